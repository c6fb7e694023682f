# SPDX-License-Identifier: Apache-2.0
"""Dumps of the threads of a JVM."""

#: As JDK 17 prints it (github.com/AutoMQ/automq/issues/691), and JDK 8 (github.com/brettwooldridge/HikariCP/issues/1364).
JDK_17 = """\
2026-11-22 00:00:01
Full thread dump OpenJDK 64-Bit Server VM (17.0.9+9 mixed mode, sharing):

Threads class SMR info:
_java_thread_list=0x00007fd7a7a12cd0, length=13, elements={
0x00007fd7aa808200, 0x00007fd7a7012c00
}

"main" #1 prio=5 os_prio=0 cpu=675604.67ms elapsed=61267.64s tid=0x00007f4ee00157c0 nid=0x7303 waiting on condition  [0x00007f4ee65fe000]
   java.lang.Thread.State: TIMED_WAITING (sleeping)
\tat java.lang.Thread.sleep(java.base@17.0.9/Native Method)
\tat org.apache.kafka.common.utils.Utils.sleep(Utils.java:381)
\tat org.apache.kafka.clients.consumer.internals.AbstractCoordinator.ensureCoordinatorReady(AbstractCoordinator.java:286)
\t- locked <0x0000000088700000> (a org.apache.kafka.clients.consumer.internals.ConsumerCoordinator)

   Locked ownable synchronizers:
\t- None

"task-thread-orders-0" #55 prio=5 os_prio=0 cpu=10.1ms elapsed=99.2s tid=0x00007f nid=0x204 runnable  [0x00007f4ee65fe000]
   java.lang.Thread.State: RUNNABLE
\tat sun.nio.ch.SocketDispatcher.read0(java.base@17.0.9/Native Method)
\tat com.acme.SlowTask.put(SlowTask.java:99)
\tat org.apache.kafka.connect.runtime.WorkerSinkTask.deliverMessages(WorkerSinkTask.java:601)

"VM Thread" os_prio=0 cpu=1.00ms elapsed=61267.00s tid=0x00007f nid=0x1 runnable

JNI global refs: 15, weak refs: 0
"""
JDK_8 = """\
2026-11-22 00:00:09
Full thread dump Java HotSpot(TM) 64-Bit Server VM (25.202-b08 mixed mode):

"kafka-coordinator-heartbeat-thread | g" #107 daemon prio=5 os_prio=31 tid=0x00007fd489b03000 nid=0xcb03 in Object.wait() [0x0000700008d4c000]
   java.lang.Thread.State: TIMED_WAITING (on object monitor)
        at java.lang.Object.wait(Native Method)
        at org.apache.kafka.clients.consumer.internals.AbstractCoordinator$HeartbeatThread.run(AbstractCoordinator.java:906)
        - locked <0x00000007407a2100> (a org.apache.kafka.clients.consumer.internals.ConsumerCoordinator)

"kafka-coordinator-heartbeat-thread | g" #108 daemon prio=5 os_prio=31 tid=0x00007fd489335800 nid=0x13403 in Object.wait() [0x0000700008e4f000]
   java.lang.Thread.State: TIMED_WAITING (on object monitor)
"""
