// SPDX-License-Identifier: Apache-2.0

// A consumer of franz-go: `CONFIG TRUTH`. The library logs through its basic logger, with the time in front.
package main

import (
	"context"
	"log"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"lab/truth"
)

func main() {
	t := truth.Open()
	level := kgo.LogLevelInfo
	if t.Debug != "" {
		level = kgo.LogLevelDebug
	}
	said := func(name string) func(context.Context, *kgo.Client, map[string][]int32) {
		return func(_ context.Context, _ *kgo.Client, partitions map[string][]int32) { t.Has(name, partitions) }
	}
	options := []kgo.Opt{
		kgo.SeedBrokers(t.Brokers()...),
		kgo.ClientID(t.ClientID),
		kgo.ConsumerGroup(t.Group),
		kgo.ConsumeTopics(t.Topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.SessionTimeout(t.Session()),
		kgo.HeartbeatInterval(t.Heartbeat()),
		kgo.RebalanceTimeout(t.MaxPoll()),
		kgo.BlockRebalanceOnPoll(),
		kgo.DisableAutoCommit(),
		kgo.OnPartitionsAssigned(said("partitions_assigned")),
		kgo.OnPartitionsRevoked(said("partitions_revoked")),
		kgo.OnPartitionsLost(said("partitions_revoked")),
		kgo.WithLogger(kgo.BasicLogger(os.Stderr, level, func() string { return time.Now().Format("2006-01-02 15:04:05.000 ") })),
	}
	if t.InstanceID != "" {
		options = append(options, kgo.InstanceID(t.InstanceID))
	}
	client, err := kgo.NewClient(options...)
	if err != nil {
		log.Fatal(err)
	}
	for t.Ctx.Err() == nil {
		ctx, cancel := context.WithTimeout(t.Ctx, 200*time.Millisecond)
		fetches := client.PollFetches(ctx)
		cancel()
		t.Wait()
		fetches.EachPartition(func(p kgo.FetchTopicPartition) {
			if n := len(p.Records); n > 0 {
				t.Consumed(p.Topic, p.Partition, p.Records[0].Offset, p.Records[n-1].Offset)
			}
		})
		if !fetches.Empty() {
			if err := client.CommitUncommittedOffsets(t.Ctx); err != nil {
				log.Printf("commit failed: %v", err)
			}
		}
		client.AllowRebalance()
	}
	client.CloseAllowingRebalance()
}
