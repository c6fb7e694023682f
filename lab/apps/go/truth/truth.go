// SPDX-License-Identifier: Apache-2.0

// Package truth is what the Go consumers of the laboratory share: their settings, their files of truth, and what keeps them from going on.
package truth

import (
	"context"
	"encoding/json"
	"log"
	"os"
	"os/signal"
	"sort"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Settings of a consumer.
type Settings struct {
	Bootstrap   string `json:"bootstrap"`
	Group       string `json:"group"`
	Topic       string `json:"topic"`
	ClientID    string `json:"client_id"`
	InstanceID  string `json:"instance_id"`
	SessionMs   int    `json:"session_ms"`
	HeartbeatMs int    `json:"heartbeat_ms"`
	MaxPollMs   int    `json:"max_poll_ms"`
	Fault       string `json:"fault"`
	Debug       string `json:"debug"`
}

// Range is one partition, with the offsets that were processed if some were.
type Range struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Count     int    `json:"count,omitempty"`
	MinOffset int64  `json:"minOffset"`
	MaxOffset int64  `json:"maxOffset"`
}

// Truth is a file of JSON lines in the form of Kafka's VerifiableConsumer.
type Truth struct {
	Settings
	Ctx  context.Context
	mu   sync.Mutex
	file *os.File
}

// Open reads the settings and opens the file, which are the arguments of the command.
func Open() *Truth {
	t := &Truth{}
	text, err := os.ReadFile(os.Args[1])
	if err == nil {
		err = json.Unmarshal(text, &t.Settings)
	}
	if err == nil {
		t.file, err = os.OpenFile(os.Args[2], os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	}
	if err != nil {
		log.Fatal(err)
	}
	t.Ctx, _ = signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	return t
}

// Brokers returns the bootstrap servers as a list.
func (t *Truth) Brokers() []string { return strings.Split(t.Bootstrap, ",") }

// Session returns the session timeout.
func (t *Truth) Session() time.Duration { return time.Duration(t.SessionMs) * time.Millisecond }

// Heartbeat returns the interval of heartbeats.
func (t *Truth) Heartbeat() time.Duration { return time.Duration(t.HeartbeatMs) * time.Millisecond }

// MaxPoll returns the time that a member has to join a rebalance.
func (t *Truth) MaxPoll() time.Duration { return time.Duration(t.MaxPollMs) * time.Millisecond }

func (t *Truth) say(name string, partitions []Range) {
	line, _ := json.Marshal(map[string]any{"timestamp": time.Now().UnixMilli(), "name": name, "partitions": partitions})
	t.mu.Lock()
	defer t.mu.Unlock()
	_, _ = t.file.Write(append(line, '\n'))
}

// Has writes that partitions were assigned or revoked.
func (t *Truth) Has(name string, partitions map[string][]int32) {
	found := []Range{}
	for topic, numbers := range partitions {
		for _, number := range numbers {
			found = append(found, Range{Topic: topic, Partition: number})
		}
	}
	sort.Slice(found, func(i, j int) bool { return found[i].Partition < found[j].Partition })
	t.say(name, found)
}

// Consumed writes that a range of records was processed.
func (t *Truth) Consumed(topic string, partition int32, from, to int64) {
	t.say("records_consumed", []Range{{topic, partition, int(to - from + 1), from, to}})
}

// Wait returns as soon as no file says that processing does not go on.
func (t *Truth) Wait() {
	for t.Ctx.Err() == nil {
		if _, err := os.Stat(t.Fault + ".blocked"); err != nil {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
}
