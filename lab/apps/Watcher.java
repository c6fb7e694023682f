// SPDX-License-Identifier: Apache-2.0

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ConsumerGroupDescription;
import org.apache.kafka.clients.admin.ListOffsetsOptions;
import org.apache.kafka.clients.admin.MemberDescription;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.TransactionDescription;
import org.apache.kafka.clients.admin.TransactionListing;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.IsolationLevel;
import org.apache.kafka.common.TopicPartition;

/**
 * Asks the brokers five times a second who they think has what, and writes what changed: {@code transactions.jsonl} (for each
 * transactional id: state, producer id and epoch, start), {@code groups.jsonl} (for each group: state, members with partitions),
 * and once a second {@code offsets.jsonl} (for each group and partition: committed offset, last stable offset, end).
 *
 * <p>Arguments: bootstrap servers, folder, groups.
 */
public class Watcher {
    public static void main(String[] args) throws Exception {
        List<String> groups = Arrays.asList(args).subList(2, args.length);
        Json transactions = new Json(args[1] + "/transactions.jsonl");
        Json members = new Json(args[1] + "/groups.jsonl");
        Json offsets = new Json(args[1] + "/offsets.jsonl");
        Properties settings = new Properties();
        settings.put("bootstrap.servers", args[0]);
        settings.put("default.api.timeout.ms", "3000");
        settings.put("request.timeout.ms", "1000");
        try (Admin admin = Admin.create(settings)) {
            for (int round = 0; true; round++) {
                attempt(transactions, () -> transactions(admin, transactions));
                attempt(members, () -> members(admin, groups, members));
                if (round % 5 == 0) {
                    attempt(offsets, () -> offsets(admin, groups, offsets));
                }
                Thread.sleep(200);
            }
        }
    }

    private interface Look {
        void run() throws Exception;
    }

    /** Runs one look; a broker that does not answer is part of the truth. */
    private static void attempt(Json file, Look look) throws Exception {
        try {
            look.run();
        } catch (ExecutionException e) {
            file.change("", "\"error\":" + Json.text(e.getCause().getClass().getName()));
            return;
        }
        file.change("", "\"error\":null");
    }

    private static void transactions(Admin admin, Json file) throws Exception {
        List<String> ids = new ArrayList<>();
        for (TransactionListing listing : admin.listTransactions().all().get()) {
            ids.add(listing.transactionalId());
        }
        for (Map.Entry<String, TransactionDescription> entry : admin.describeTransactions(ids).all().get().entrySet()) {
            TransactionDescription about = entry.getValue();
            file.change(entry.getKey(), "\"transactional_id\":" + Json.text(entry.getKey()) + ",\"coordinator\":" + about.coordinatorId()
                + ",\"state\":" + Json.text(about.state()) + ",\"producer_id\":" + about.producerId() + ",\"epoch\":" + about.producerEpoch()
                + ",\"timeout_ms\":" + about.transactionTimeoutMs()
                + ",\"start_ms\":" + (about.transactionStartTimeMs().isPresent() ? about.transactionStartTimeMs().getAsLong() : "null")
                + ",\"partitions\":" + Json.texts(about.topicPartitions()));
        }
    }

    private static void members(Admin admin, List<String> groups, Json file) throws Exception {
        for (Map.Entry<String, ConsumerGroupDescription> entry : admin.describeConsumerGroups(groups).all().get().entrySet()) {
            Map<String, String> lines = new TreeMap<>();
            for (MemberDescription member : entry.getValue().members()) {
                lines.put(member.consumerId(), "{\"member\":" + Json.text(member.consumerId()) + ",\"client\":" + Json.text(member.clientId())
                    + ",\"host\":" + Json.text(member.host()) + ",\"partitions\":" + Json.texts(member.assignment().topicPartitions()) + "}");
            }
            ConsumerGroupDescription about = entry.getValue();
            file.change(entry.getKey(), "\"group\":" + Json.text(entry.getKey()) + ",\"state\":" + Json.text(about.state())
                + ",\"assignor\":" + Json.text(about.partitionAssignor()) + ",\"members\":[" + String.join(",", lines.values()) + "]");
        }
    }

    private static void offsets(Admin admin, List<String> groups, Json file) throws Exception {
        for (String group : groups) {
            Map<TopicPartition, OffsetAndMetadata> committed = admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get();
            Map<TopicPartition, OffsetSpec> latest = new HashMap<>();
            committed.keySet().forEach(partition -> latest.put(partition, OffsetSpec.latest()));
            var ends = admin.listOffsets(latest).all().get();
            var stable = admin.listOffsets(latest, new ListOffsetsOptions(IsolationLevel.READ_COMMITTED)).all().get();
            for (Map.Entry<TopicPartition, OffsetAndMetadata> entry : committed.entrySet()) {
                TopicPartition partition = entry.getKey();
                file.change(group + " " + partition, "\"group\":" + Json.text(group) + ",\"partition\":" + Json.text(partition)
                    + ",\"committed\":" + (entry.getValue() == null ? "null" : entry.getValue().offset())
                    + ",\"stable\":" + stable.get(partition).offset() + ",\"end\":" + ends.get(partition).offset());
            }
        }
    }
}
