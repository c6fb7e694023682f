// SPDX-License-Identifier: Apache-2.0

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Makes garbage all the time, so that the collector works every few seconds, and fills the heap while the file that the property
 * {@code lab.heap} names exists, so that one full collection follows another. A thread that wants to run every 20 ms writes to the
 * file that the property {@code lab.pauses} names from when to when it could not for half a second or longer.
 */
final class Hoard {
    private static final AtomicBoolean STARTED = new AtomicBoolean();
    private static volatile Object garbage;

    private Hoard() {
    }

    /** Starts both threads, once in a process, if the properties are set. */
    static void start() throws java.io.IOException {
        String heap = System.getProperty("lab.heap");
        if (heap == null || !STARTED.compareAndSet(false, true)) {
            return;
        }
        Json truth = new Json(System.getProperty("lab.pauses"));
        daemon("hoard", () -> fill(Path.of(heap)));
        daemon("pulse", () -> pulse(truth));
    }

    private static void daemon(String name, Runnable what) {
        Thread thread = new Thread(what, name);
        thread.setDaemon(true);
        thread.start();
    }

    private static void pulse(Json truth) {
        long before = System.currentTimeMillis();
        while (true) {
            sleep(20);
            long now = System.currentTimeMillis();
            if (now - before >= 500) {
                try {
                    truth.line("\"from_ms\":" + before + ",\"to_ms\":" + now);
                } catch (java.io.IOException e) {
                    throw new java.io.UncheckedIOException(e);
                }
            }
            before = now;
        }
    }

    private static void fill(Path wanted) {
        List<Node[]> kept = new ArrayList<>();
        Random random = new Random(1);
        Runtime jvm = Runtime.getRuntime();
        while (true) {
            if (!Files.exists(wanted)) {
                kept.clear();
                garbage = new byte[1 << 20];
                sleep(40);
            } else if (jvm.totalMemory() - jvm.freeMemory() < share(wanted) * jvm.maxMemory()) {
                kept.add(nodes(kept, random));
            } else {
                garbage = new byte[1 << 16];
                sleep(1);
            }
        }
    }

    /** Returns which share of the heap is wanted, as the file says. */
    private static double share(Path wanted) {
        try {
            return Double.parseDouble(Files.readString(wanted));
        } catch (java.io.IOException e) {
            return 0; // it was removed meanwhile
        }
    }

    /** Returns objects that refer to others at random, which a collector follows slowly. */
    private static Node[] nodes(List<Node[]> kept, Random random) {
        Node[] nodes = new Node[1 << 14];
        for (int i = 0; i < nodes.length; i++) {
            nodes[i] = new Node();
            if (!kept.isEmpty()) {
                Node[] other = kept.get(random.nextInt(kept.size()));
                nodes[i].next = other[random.nextInt(other.length)];
            }
        }
        return nodes;
    }

    private static void sleep(long ms) {
        try {
            Thread.sleep(ms);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static final class Node {
        private Node next;
        private long first;
        private long second;
    }
}
