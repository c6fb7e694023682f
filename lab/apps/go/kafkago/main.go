// SPDX-License-Identifier: Apache-2.0

// A consumer of segmentio/kafka-go: `CONFIG TRUTH`. Its reader has no callback for assignments, so the truth of these is the coordinator's.
package main

import (
	"context"
	"errors"
	"log"
	"os"

	"github.com/segmentio/kafka-go"

	"lab/truth"
)

func main() {
	t := truth.Open()
	log.SetOutput(os.Stdout)
	config := kafka.ReaderConfig{
		Brokers:           t.Brokers(),
		GroupID:           t.Group,
		Topic:             t.Topic,
		Dialer:            &kafka.Dialer{ClientID: t.ClientID, DualStack: true},
		StartOffset:       kafka.FirstOffset,
		SessionTimeout:    t.Session(),
		HeartbeatInterval: t.Heartbeat(),
		RebalanceTimeout:  t.MaxPoll(),
		MaxWait:           t.Heartbeat() / 3,
		ErrorLogger:       kafka.LoggerFunc(log.Printf),
	}
	// Its logger of everything else prints a line for each fetch.
	config.Logger = kafka.LoggerFunc(log.Printf)
	reader := kafka.NewReader(config)
	for t.Ctx.Err() == nil {
		message, err := reader.FetchMessage(t.Ctx)
		if err != nil {
			if !errors.Is(err, context.Canceled) {
				log.Printf("fetch failed: %v", err)
			}
			continue
		}
		t.Wait()
		t.Consumed(message.Topic, int32(message.Partition), message.Offset, message.Offset)
		if err := reader.CommitMessages(t.Ctx, message); err != nil {
			log.Printf("commit failed: %v", err)
		}
	}
	if err := reader.Close(); err != nil {
		log.Printf("close failed: %v", err)
	}
}
