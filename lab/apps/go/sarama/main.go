// SPDX-License-Identifier: Apache-2.0

// A consumer of sarama: `CONFIG TRUTH`. The library logs through the standard logger that the application gives it.
package main

import (
	"errors"
	"log"
	"os"
	"time"

	"github.com/IBM/sarama"

	"lab/truth"
)

type handler struct{ truth *truth.Truth }

func (h handler) Setup(session sarama.ConsumerGroupSession) error {
	h.truth.Has("partitions_assigned", session.Claims())
	return nil
}

func (h handler) Cleanup(session sarama.ConsumerGroupSession) error {
	h.truth.Has("partitions_revoked", session.Claims())
	return nil
}

func (h handler) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for {
		select {
		case message, ok := <-claim.Messages():
			if !ok {
				return nil
			}
			h.truth.Wait()
			h.truth.Consumed(message.Topic, message.Partition, message.Offset, message.Offset)
			session.MarkMessage(message, "")
		case <-session.Context().Done():
			return nil
		}
	}
}

func main() {
	t := truth.Open()
	log.SetOutput(os.Stdout)
	sarama.Logger = log.New(os.Stdout, "[sarama] ", log.LstdFlags)
	config := sarama.NewConfig()
	config.Version = sarama.V2_8_0_0
	config.ClientID = t.ClientID
	config.Consumer.Group.Session.Timeout = t.Session()
	config.Consumer.Group.Heartbeat.Interval = t.Heartbeat()
	config.Consumer.Group.Rebalance.Timeout = t.MaxPoll()
	config.Consumer.Group.InstanceId = t.InstanceID
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.Return.Errors = true
	group, err := sarama.NewConsumerGroup(t.Brokers(), t.Group, config)
	if err != nil {
		log.Fatalf("Error creating consumer group client: %v", err)
	}
	go func() {
		for err := range group.Errors() {
			log.Printf("consumer error: %v", err)
		}
	}()
	for t.Ctx.Err() == nil {
		err := group.Consume(t.Ctx, []string{t.Topic}, handler{t})
		if errors.Is(err, sarama.ErrClosedConsumerGroup) {
			break
		}
		if err != nil {
			log.Printf("Error from consumer: %v", err)
			time.Sleep(time.Second)
		}
	}
	if err := group.Close(); err != nil {
		log.Printf("Error closing client: %v", err)
	}
}
