// SPDX-License-Identifier: Apache-2.0

import java.io.FileInputStream;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.Properties;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.errors.AuthorizationException;
import org.apache.kafka.common.errors.OutOfOrderSequenceException;
import org.apache.kafka.common.errors.ProducerFencedException;
import org.apache.kafka.common.serialization.StringSerializer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Writes one transaction after the other, with the error handling that the javadoc of KafkaProducer shows: a fatal error ends the
 * process (exit code 3), any other aborts the transaction. Its truth has each step with the producer id and epoch that it has then.
 *
 * <p>Arguments: a properties file (settings of the producer, and {@code topic}, {@code records}, {@code pause.ms}: records in a
 * transaction and the pause after each, {@code slow.ms}: time between the last record of the third transaction and its commit), the
 * file of truth.
 */
public class TransactionalProducer {
    private static final Logger LOG = LoggerFactory.getLogger(TransactionalProducer.class);
    private static volatile boolean ending = false;

    private final KafkaProducer<String, String> producer;
    private final Json truth;
    private final String topic;
    private final int records;
    private final long pause;
    private final long slow;

    private TransactionalProducer(Properties settings, String truth) throws Exception {
        topic = (String) settings.remove("topic");
        records = Integer.parseInt((String) settings.remove("records"));
        pause = Long.parseLong((String) settings.remove("pause.ms"));
        slow = Long.parseLong((String) settings.remove("slow.ms"));
        settings.put(ProducerConfig.KEY_SERIALIZER_CLASS_CONFIG, StringSerializer.class.getName());
        settings.put(ProducerConfig.VALUE_SERIALIZER_CLASS_CONFIG, StringSerializer.class.getName());
        this.truth = new Json(truth);
        producer = new KafkaProducer<>(settings);
    }

    public static void main(String[] args) throws Exception {
        Properties settings = new Properties();
        try (FileInputStream in = new FileInputStream(args[0])) {
            settings.load(in);
        }
        TransactionalProducer app = new TransactionalProducer(settings, args[1]);
        Thread main = Thread.currentThread();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            ending = true;
            try {
                main.join(3000);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }));
        int code = app.work();
        if (!ending) {
            System.exit(code);
        }
    }

    private int work() throws Exception {
        int code = 0;
        try {
            say("starting", null);
            producer.initTransactions();
            say("initialised", null);
            for (int number = 0; !ending; number++) {
                transaction(number);
            }
        } catch (ProducerFencedException | OutOfOrderSequenceException | AuthorizationException e) {
            LOG.error("Cannot recover from this error, closing the producer", e);
            code = 3;
            say("fatal", e);
        } catch (KafkaException e) {
            LOG.error("The transaction failed and cannot be aborted, closing the producer", e);
            code = 4;
            say("fatal", e);
        }
        producer.close();
        say("closed", null);
        return code;
    }

    private void transaction(int number) throws Exception {
        try {
            producer.beginTransaction();
            say("begun", null);
            for (int i = 0; i < records && !ending; i++) {
                producer.send(new ProducerRecord<>(topic, number + "-" + i));
                Thread.sleep(pause);
            }
            if (number == 2) {
                Thread.sleep(slow);
            }
            producer.commitTransaction();
            say("committed", null);
        } catch (ProducerFencedException | OutOfOrderSequenceException | AuthorizationException e) {
            throw e;
        } catch (KafkaException e) {
            LOG.warn("The transaction failed, aborting it", e);
            say("failed", e);
            producer.abortTransaction();
            say("aborted", null);
        }
    }

    /** Writes a line of truth. Producer id and epoch are not public: they are read from the object that has them. */
    private synchronized void say(String what, Exception e) throws Exception {
        Field field = KafkaProducer.class.getDeclaredField("transactionManager");
        field.setAccessible(true);
        Object manager = field.get(producer);
        Method method = manager.getClass().getDeclaredMethod("producerIdAndEpoch");
        method.setAccessible(true);
        Object pair = method.invoke(manager);
        Field id = pair.getClass().getField("producerId");
        Field epoch = pair.getClass().getField("epoch");
        id.setAccessible(true);
        epoch.setAccessible(true);
        StringBuilder line = new StringBuilder("\"event\":\"" + what + "\"");
        line.append(",\"producer_id\":" + id.get(pair) + ",\"epoch\":" + epoch.get(pair));
        if (e != null) {
            line.append(",\"exception\":" + Json.text(e.getClass().getName()) + ",\"message\":" + Json.text(e.getMessage()));
            line.append(",\"cause\":" + Json.text(e.getCause() == null ? null : e.getCause().getClass().getName()));
        }
        truth.line(line.toString());
    }
}
