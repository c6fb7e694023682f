// SPDX-License-Identifier: Apache-2.0

import java.io.FileInputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.TaskMetadata;
import org.apache.kafka.streams.ThreadMetadata;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.processor.api.RecordMetadata;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.Stores;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Counts the records of a topic in a state store, one task for each partition. Its truth, five times a second: the tasks that each
 * thread has (active, standby), the offsets that each thread processed since, and every exception that ended a thread.
 *
 * <p>Arguments: a properties file (settings of Streams, and {@code topic}, {@code fault}: processing the records of partition N
 * throws while the file {@code fault-N} exists), the file of truth.
 */
public class StreamsCounter {
    private static final Logger LOG = LoggerFactory.getLogger(StreamsCounter.class);
    /** Task to what was processed since the last sample; guarded by itself. */
    private static final Map<String, long[]> DONE = new TreeMap<>();
    private static String fault;

    public static void main(String[] args) throws Exception {
        Properties settings = new Properties();
        try (FileInputStream in = new FileInputStream(args[0])) {
            settings.load(in);
        }
        Json truth = new Json(args[1]);
        String topic = (String) settings.remove("topic");
        fault = (String) settings.remove("fault");
        settings.put("default.key.serde", Serdes.StringSerde.class.getName());
        settings.put("default.value.serde", Serdes.StringSerde.class.getName());
        Topology topology = new Topology();
        topology.addSource("in", topic);
        topology.addProcessor("count", Counter::new, "in");
        topology.addStateStore(
            Stores.keyValueStoreBuilder(Stores.persistentKeyValueStore("counts"), Serdes.String(), Serdes.Long()), "count");
        topology.addSink("out", topic + "-counts", Serdes.String().serializer(), Serdes.String().serializer(), "count");
        KafkaStreams streams = new KafkaStreams(topology, settings);
        streams.setUncaughtExceptionHandler(e -> {
            LOG.error("A stream thread failed, shutting down this client", e);
            try {
                Throwable cause = e.getCause();
                truth.line("\"thread\":" + Json.text(Thread.currentThread().getName()) + ",\"exception\":"
                    + Json.text(e.getClass().getName()) + ",\"message\":" + Json.text(e.getMessage()) + ",\"cause\":"
                    + Json.text(cause == null ? null : cause.getClass().getName()));
            } catch (Exception lost) {
                LOG.error("No truth of it", lost);
            }
            return StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
        });
        Runtime.getRuntime().addShutdownHook(new Thread(streams::close));
        streams.start();
        while (streams.state() != KafkaStreams.State.ERROR) {
            sample(streams, truth);
            Thread.sleep(200);
        }
        sample(streams, truth);
        LOG.error("All stream threads have died, exiting");
        System.exit(1);
    }

    private static void sample(KafkaStreams streams, Json truth) throws Exception {
        List<String> threads = new ArrayList<>();
        try {
            for (ThreadMetadata thread : streams.metadataForLocalThreads()) {
                threads.add("{\"thread\":" + Json.text(thread.threadName()) + ",\"state\":" + Json.text(thread.threadState())
                    + ",\"active\":" + tasks(thread.activeTasks()) + ",\"standby\":" + tasks(thread.standbyTasks()) + "}");
            }
        } catch (IllegalStateException e) {
            LOG.debug("Not running", e);  // it has no threads then
        }
        threads.sort(null);
        truth.change("threads", "\"state\":" + Json.text(streams.state()) + ",\"threads\":[" + String.join(",", threads) + "]");
        synchronized (DONE) {
            if (!DONE.isEmpty()) {
                truth.line("\"processed\":{" + DONE.entrySet().stream()
                    .map(e -> Json.text(e.getKey()) + ":[" + e.getValue()[0] + "," + e.getValue()[1] + "]")
                    .collect(Collectors.joining(",")) + "}");
                DONE.clear();
            }
        }
    }

    private static String tasks(java.util.Set<TaskMetadata> tasks) {
        return Json.texts(tasks.stream().map(TaskMetadata::taskId).collect(Collectors.toList()));
    }

    private static class Counter implements Processor<String, String, String, String> {
        private ProcessorContext<String, String> context;
        private KeyValueStore<String, Long> counts;

        @Override
        public void init(ProcessorContext<String, String> context) {
            this.context = context;
            counts = context.getStateStore("counts");
        }

        @Override
        public void process(Record<String, String> record) {
            RecordMetadata where = context.recordMetadata().get();
            if (fault != null && Files.exists(Path.of(fault + "-" + where.partition()))) {
                throw new IllegalStateException("Cannot process the record at offset " + where.offset());
            }
            Long before = counts.get("all");
            counts.put("all", before == null ? 1 : before + 1);
            context.forward(record.withValue(String.valueOf(counts.get("all"))));
            synchronized (DONE) {
                long[] range = DONE.computeIfAbsent(context.taskId().toString(), task -> new long[] {where.offset(), 0});
                range[1] = where.offset();
            }
        }
    }
}
