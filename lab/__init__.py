# SPDX-License-Identifier: Apache-2.0
"""A laboratory: a real Kafka on hosts of its own, faults on purpose, and the truth sampled from outside. See README.md."""
