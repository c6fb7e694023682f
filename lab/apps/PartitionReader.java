// SPDX-License-Identifier: Apache-2.0

import java.io.FileInputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.RecordDeserializationException;
import org.apache.kafka.common.errors.SerializationException;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.serialization.Deserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reads a topic as a member of a group, and does not read what it has while a file exists: {@code FAULT.paused-N} pauses partition N;
 * {@code FAULT.unreadable} makes one record, the next one, impossible to deserialize, and the program polls again and again until
 * {@code FAULT.skip} exists; {@code FAULT.blocked} keeps the thread that polls from going on. Its truth is in the form of
 * VerifiableConsumer, with a line for each time that such a state begins or ends.
 *
 * <p>With {@code commit.every.ms} it commits itself, that long after its last commit and when partitions are revoked; with
 * {@code transactional.id} it writes what it reads to a second topic and commits in the transactions of that producer.
 *
 * <p>Arguments: a properties file (settings of the consumer, and {@code topic}, {@code fault}, {@code commit.every.ms},
 * {@code transactional.id}), the file of truth.
 */
public class PartitionReader {
    private static final Logger LOG = LoggerFactory.getLogger(PartitionReader.class);
    private static String fault;
    private static volatile boolean ending = false;
    private static Json truth;
    private static String topic;
    private static KafkaProducer<String, String> producer;
    private static long commitEvery;
    private static long committedAt = System.currentTimeMillis();
    /** What is read and not committed: next offset by partition. */
    private static final Map<TopicPartition, OffsetAndMetadata> read = new HashMap<>();

    public static void main(String[] args) throws Exception {
        Properties settings = new Properties();
        try (FileInputStream in = new FileInputStream(args[0])) {
            settings.load(in);
        }
        truth = new Json(args[1]);
        Hoard.start();
        topic = (String) settings.remove("topic");
        fault = (String) settings.remove("fault");
        commitEvery = Long.parseLong((String) Objects.requireNonNullElse(settings.remove("commit.every.ms"), "0"));
        String transactionalId = (String) settings.remove("transactional.id");
        if (commitEvery > 0) {
            settings.put("enable.auto.commit", "false");
        }
        if (transactionalId != null) {
            Properties own = new Properties();
            own.put("bootstrap.servers", settings.get("bootstrap.servers"));
            own.put("transactional.id", transactionalId);
            own.put("transaction.timeout.ms", "15000");
            producer = new KafkaProducer<>(own, new StringSerializer(), new StringSerializer());
            producer.initTransactions();
        }
        KafkaConsumer<String, String> consumer = new KafkaConsumer<>(settings, new Text(false), new Text(true));
        Thread main = Thread.currentThread();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            ending = true;
            consumer.wakeup();
            try {
                main.join(3000);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }));
        consumer.subscribe(List.of(topic), new ConsumerRebalanceListener() {
            @Override
            public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
                say("partitions_assigned", list(partitions));
            }

            @Override
            public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
                commit(consumer);
                say("partitions_revoked", list(partitions));
            }
        });
        try {
            while (!ending) {
                round(consumer);
            }
        } catch (WakeupException e) {
            LOG.info("Asked to end");
        }
        commit(consumer);
        consumer.close();
    }

    /** Commits what was read, as an application does that only logs a failure and goes on. */
    private static void commit(KafkaConsumer<String, String> consumer) {
        committedAt = System.currentTimeMillis();
        if (commitEvery == 0 || read.isEmpty()) {
            return;
        }
        Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>(read);
        String failure = null;
        try {
            if (producer == null) {
                consumer.commitSync(offsets);
            } else {
                producer.sendOffsetsToTransaction(offsets, consumer.groupMetadata());
                producer.commitTransaction();
            }
        } catch (WakeupException e) {
            return;
        } catch (KafkaException e) {
            LOG.error("Cannot commit", e);
            failure = e.getClass().getName();
            if (producer != null) {
                producer.abortTransaction();
            }
        }
        read.clear();
        List<String> parts = new ArrayList<>();
        offsets.forEach((p, to) -> parts.add("{\"topic\":" + Json.text(p.topic()) + ",\"partition\":" + p.partition() + ",\"offset\":" + to.offset() + "}"));
        parts.sort(null);
        say("offsets_committed", "[]", "\"offsets\":[" + String.join(",", parts) + "],\"success\":" + (failure == null) + ",\"error\":" + Json.text(failure));
    }

    private static void round(KafkaConsumer<String, String> consumer) throws Exception {
        for (TopicPartition partition : consumer.assignment()) {
            boolean wanted = exists("paused-" + partition.partition());
            if (wanted != consumer.paused().contains(partition)) {
                if (wanted) {
                    consumer.pause(Set.of(partition));
                } else {
                    consumer.resume(Set.of(partition));
                }
                say(wanted ? "paused" : "resumed", list(Set.of(partition)));
            }
        }
        try {
            TreeMap<Integer, long[]> batch = new TreeMap<>();
            for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(200))) {
                if (producer != null && read.isEmpty()) {
                    producer.beginTransaction();
                }
                read.put(new TopicPartition(topic, record.partition()), new OffsetAndMetadata(record.offset() + 1));
                if (producer != null) {
                    producer.send(new ProducerRecord<>(topic + "-copy", record.key(), record.value()));
                }
                long[] range = batch.computeIfAbsent(record.partition(), p -> new long[] {record.offset(), 0, 0});
                range[1] = record.offset();
                range[2]++;
            }
            List<String> parts = new ArrayList<>();
            batch.forEach((partition, range) -> parts.add("{\"topic\":" + Json.text(topic) + ",\"partition\":" + partition
                + ",\"count\":" + range[2] + ",\"minOffset\":" + range[0] + ",\"maxOffset\":" + range[1] + "}"));
            if (!parts.isEmpty()) {
                say("records_consumed", "[" + String.join(",", parts) + "]");
            }
        } catch (RecordDeserializationException e) {
            LOG.error("Cannot read the next record, polling again", e);
            say("unreadable", "[{\"topic\":" + Json.text(e.topicPartition().topic()) + ",\"partition\":" + e.topicPartition().partition()
                + ",\"offset\":" + e.offset() + "}]");
            if (exists("skip")) {
                consumer.seek(e.topicPartition(), e.offset() + 1);
            }
            Thread.sleep(1000);
        }
        if (exists("blocked")) {
            say("blocked", "[]");
            while (exists("blocked") && !ending) {
                Thread.sleep(100);
            }
            say("unblocked", "[]");
        }
        if (commitEvery > 0 && System.currentTimeMillis() - committedAt >= commitEvery) {
            commit(consumer);
        }
    }

    private static boolean exists(String name) {
        return Files.exists(Path.of(fault + "." + name));
    }

    private static String list(Collection<TopicPartition> partitions) {
        List<String> parts = new ArrayList<>();
        partitions.forEach(p -> parts.add("{\"topic\":" + Json.text(p.topic()) + ",\"partition\":" + p.partition() + "}"));
        parts.sort(null);
        return "[" + String.join(",", parts) + "]";
    }

    private static void say(String name, String partitions, String... more) {
        try {
            truth.line("\"timestamp\":" + System.currentTimeMillis() + ",\"name\":" + Json.text(name) + ",\"partitions\":" + partitions
                + (more.length > 0 ? "," + more[0] : ""));
        } catch (java.io.IOException e) {
            LOG.error("No truth of it", e);
        }
    }

    /** Reads text; while the file exists, the first record that it meets is one that it can never read. */
    private static class Text implements Deserializer<String> {
        private final boolean isValue;
        private String unreadable;

        Text(boolean isValue) {
            this.isValue = isValue;
        }

        @Override
        public String deserialize(String topic, byte[] data) {
            String text = data == null ? null : new String(data, StandardCharsets.UTF_8);
            if (unreadable == null && text != null && isValue && exists("unreadable")) {
                unreadable = text;
            }
            if (unreadable != null && unreadable.equals(text)) {
                throw new SerializationException("Not a record of this application");
            }
            return text;
        }
    }
}
