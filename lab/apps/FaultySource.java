// SPDX-License-Identifier: Apache-2.0

import java.net.SocketTimeoutException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.Task;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.errors.ConnectException;
import org.apache.kafka.connect.source.ExactlyOnceSupport;
import org.apache.kafka.connect.source.SourceConnector;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.source.SourceTask;

/**
 * A source connector of any number of tasks, each of which counts: five records a second. Task N throws while the file that the
 * setting {@code fault} names, with -N after it, exists, like one whose database does not answer.
 */
public class FaultySource extends SourceConnector {
    private Map<String, String> settings;

    @Override
    public void start(Map<String, String> settings) {
        this.settings = settings;
    }

    @Override
    public Class<? extends Task> taskClass() {
        return Counter.class;
    }

    @Override
    public List<Map<String, String>> taskConfigs(int maxTasks) {
        List<Map<String, String>> configs = new ArrayList<>();
        for (int number = 0; number < maxTasks; number++) {
            Map<String, String> config = new HashMap<>(settings);
            config.put("number", String.valueOf(number));
            configs.add(config);
        }
        return configs;
    }

    @Override
    public void stop() {
    }

    @Override
    public ConfigDef config() {
        return new ConfigDef().define("topic", ConfigDef.Type.STRING, ConfigDef.Importance.HIGH, "where records go")
            .define("fault", ConfigDef.Type.STRING, "", ConfigDef.Importance.LOW, "task N throws while this file with -N after its name exists");
    }

    @Override
    public ExactlyOnceSupport exactlyOnceSupport(Map<String, String> settings) {
        return ExactlyOnceSupport.SUPPORTED;
    }

    @Override
    public String version() {
        return "1.0";
    }

    /** One task: its only partition is its number, its offset the last record's. */
    public static class Counter extends SourceTask {
        private Map<String, String> settings;
        private Map<String, String> partition;
        private long next;

        @Override
        public void start(Map<String, String> settings) {
            this.settings = settings;
            try {
                Hoard.start();
            } catch (java.io.IOException e) {
                throw new ConnectException("No truth of its pauses", e);
            }
            partition = Map.of("task", settings.get("number"));
            Map<String, Object> offset = context.offsetStorageReader().offset(partition);
            next = offset == null ? 0 : (Long) offset.get("count") + 1;
        }

        @Override
        public List<SourceRecord> poll() throws InterruptedException {
            String fault = settings.get("fault");
            if (fault != null && !fault.isEmpty() && Files.exists(Path.of(fault + "-" + settings.get("number")))) {
                throw new ConnectException("Cannot read from the database of task " + settings.get("number"),
                    new SocketTimeoutException("Read timed out"));
            }
            Thread.sleep(200);
            Map<String, Long> offset = Map.of("count", next);
            return List.of(new SourceRecord(partition, offset, settings.get("topic"), null, Schema.STRING_SCHEMA,
                settings.get("number"), Schema.INT64_SCHEMA, next++));
        }

        @Override
        public void stop() {
        }

        @Override
        public String version() {
            return "1.0";
        }
    }
}
