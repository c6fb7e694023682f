// SPDX-License-Identifier: Apache-2.0
// A consumer of kafkajs: `CONFIG TRUTH`. The library logs JSON to stdout.
'use strict'

const fs = require('fs')
const { Kafka, logLevel } = require('kafkajs')

const settings = JSON.parse(fs.readFileSync(process.argv[2], 'utf8'))
const truth = process.argv[3]
let held = []

const say = (name, partitions) =>
  fs.appendFileSync(truth, JSON.stringify({ timestamp: Date.now(), name, partitions }) + '\n')

const lose = () => {
  if (held.length) say('partitions_revoked', held)
  held = []
}

const main = async () => {
  const kafka = new Kafka({
    clientId: settings.client_id,
    brokers: settings.bootstrap.split(','),
    logLevel: settings.debug ? logLevel.DEBUG : logLevel.INFO,
  })
  const consumer = kafka.consumer({
    groupId: settings.group,
    sessionTimeout: settings.session_ms,
    heartbeatInterval: settings.heartbeat_ms,
    rebalanceTimeout: settings.max_poll_ms,
  })
  consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
    lose()
    held = Object.entries(payload.memberAssignment).flatMap(([topic, numbers]) =>
      numbers.map(partition => ({ topic, partition }))
    )
    say('partitions_assigned', held)
  })
  for (const event of [consumer.events.REBALANCING, consumer.events.CRASH, consumer.events.DISCONNECT]) {
    consumer.on(event, lose)
  }
  for (const signal of ['SIGTERM', 'SIGINT']) {
    process.on(signal, async () => {
      await consumer.disconnect()
      process.exit(0)
    })
  }
  await consumer.connect()
  await consumer.subscribe({ topics: [settings.topic], fromBeginning: true })
  await consumer.run({
    eachBatch: async ({ batch }) => {
      while (fs.existsSync(`${settings.fault}.blocked`)) {
        await new Promise(resolve => setTimeout(resolve, 100))
      }
      const offsets = batch.messages.map(m => Number(m.offset))
      const range = { count: offsets.length, minOffset: Math.min(...offsets), maxOffset: Math.max(...offsets) }
      say('records_consumed', [{ topic: batch.topic, partition: batch.partition, ...range }])
    },
  })
}

main().catch(error => {
  console.error(error)
  process.exit(1)
})
