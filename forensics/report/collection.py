"""Write scripts that collect, on one platform, the files which `ingest` reads. Nothing here runs them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from forensics import __version__
from forensics.snapshots.collected import HEAD

if TYPE_CHECKING:
    from forensics.report.model import Report

#: What every script begins with. `take FILE COMMAND...` writes the output of a command to a file and a line to the manifest; a refusal stops nothing.
_BEGIN = """\
#!/bin/sh
# Collects logs and what the machine and the platform say about {what} into one archive for `forensics ingest`.
# It changes nothing. Set the variables below, or in the environment. The archive contains names and settings of your systems, and may contain
# secrets from the environment of containers. `forensics redact ARCHIVE OUT` writes a copy that is safe to share.
set -u
{variables}
OUT=${{OUT:-kafka-evidence-$(date -u +%Y%m%dT%H%M%SZ)}}
mkdir -p "$OUT" || exit 1
printf '%s\\ttaken %s\\tversion %s\\n' '{head}' "$(date -u +%Y-%m-%dT%H:%M:%SZ)" '{version}' > "$OUT/manifest.tsv"

take() {{
  file=$1; shift
  mkdir -p "$OUT/$(dirname "$file")"
  if "$@" > "$OUT/$file" 2> "$OUT/.error"; then state=got; else state=refused; fi
  if [ ! -s "$OUT/$file" ]; then
    rm -f "$OUT/$file"
    if [ "$state" = got ]; then state=empty; fi
  fi
  printf '%s\\t%s\\t%s\\t%s\\n' "$state" "$file" "$*" "$(head -c 300 "$OUT/.error" | tr '\\t\\r\\n' '   ')" >> "$OUT/manifest.tsv"
  rm -f "$OUT/.error"
}}
"""
_END = """
tar czf "$OUT.tar.gz" "$OUT" && rm -r "$OUT" && echo "$OUT.tar.gz" && echo "next: forensics report $OUT.tar.gz"
"""
_HOST = """
# The host: what killed, paused or stopped a process, and what set the clock. Reading the journal may need root.
SINCE=$(echo "$SINCE" | sed 's/T/ /; s/Z$/ UTC/')
kernel() {
  journalctl -k -o json --since "$SINCE" > "$OUT/.kernel" || return 1
  grep -iE 'out of memory|oom|soft lockup|PM: suspend' "$OUT/.kernel" || true
}
take "$HOST/kernel.json" kernel
rm -f "$OUT/.kernel"
take "$HOST/systemd.json" journalctl _PID=1 -o json --since "$SINCE"
take "$HOST/clock.json" journalctl -o json --since "$SINCE" -t chronyd -t ntpd -t systemd-timesyncd
"""
_PODS = """
# The last end of each container, with its reason and time; and events, which Kubernetes keeps for an hour.
previous() {
  # A container that was never restarted has no earlier log.
  kubectl -n "$NAMESPACE" logs "$1" -c "$2" --previous 2> "$OUT/.previous" && return
  if grep -q 'previous terminated container' "$OUT/.previous"; then return; fi
  cat "$OUT/.previous" >&2
  return 1
}
take pods.yaml kubectl -n "$NAMESPACE" get pods -o yaml
take events.json kubectl -n "$NAMESPACE" get events -o json
take nodes.yaml kubectl get nodes -o yaml
for pod in $(kubectl -n "$NAMESPACE" get pods -o name); do
  pod=${pod#pod/}
  for container in $(kubectl -n "$NAMESPACE" get pod "$pod" -o 'jsonpath={.spec.containers[*].name}'); do
    take "logs/$pod-$container.log" kubectl -n "$NAMESPACE" logs "$pod" -c "$container" --since-time="$SINCE"
    take "logs/$pod-$container-previous.log" previous "$pod" "$container"
  done
done
rm -f "$OUT/.previous"
"""
_OF_OPERATOR = """
# The operator: who restarted a pod, and why.
for pod in $(kubectl -n "$OPERATOR_NAMESPACE" get pods -o name{selector}); do
  take "logs/${{pod#pod/}}.log" kubectl -n "$OPERATOR_NAMESPACE" logs "$pod" --since-time="$SINCE"
done
"""
_SINCE = 'SINCE=${SINCE:-$(date -u -d "6 hours ago" +%Y-%m-%dT%H:%M:%SZ 2>/dev/null || date -u -v-6H +%Y-%m-%dT%H:%M:%SZ)}'
_NAMESPACE = "NAMESPACE=${NAMESPACE:-kafka}"

#: By platform: what it collects about, variables, and commands.
_SCRIPTS: Mapping[str, tuple[str, tuple[str, ...], str]] = {
    "bare": (
        "the processes of this host (run it on each host)",
        (
            'SINCE=${SINCE:-$(date -d "6 hours ago" "+%Y-%m-%d %H:%M:%S" 2>/dev/null || date -v-6H "+%Y-%m-%d %H:%M:%S")}',
            "LOGS=${LOGS:-/opt/kafka/logs /var/log/kafka}",
        ),
        "\nHOST=$(hostname)"
        + _HOST
        + """
# The logs, also of the garbage collector and of crashed JVMs.
for folder in $LOGS; do
  for file in "$folder"/*.log* "$folder"/hs_err_pid*; do
    if [ -f "$file" ]; then take "$HOST/$(basename "$folder")/$(basename "$file")" cat "$file"; fi
  done
done
""",
    ),
    "docker": (
        "the containers of this host",
        (_SINCE, 'CONTAINERS=${CONTAINERS:-$(docker ps -a --format "{{.Names}}")}'),
        """
# The ends of containers, their exit codes, and the signals that were sent.
take events.txt docker events --since "$SINCE" --until "$(date -u +%Y-%m-%dT%H:%M:%SZ)" --filter type=container
for container in $CONTAINERS; do
  take "$container/inspect.json" docker inspect "$container"
  take "$container/container.log" sh -c "docker logs --since '$SINCE' '$container' 2>&1"
done
"""
        + _HOST.replace("$HOST/", "host/"),
    ),
    "kubernetes": ("the pods of one namespace", (_NAMESPACE, _SINCE), _PODS),
    "strimzi": (
        "the pods of one namespace and Strimzi's operator",
        (_NAMESPACE, "OPERATOR_NAMESPACE=${OPERATOR_NAMESPACE:-$NAMESPACE}", _SINCE),
        _PODS
        + _OF_OPERATOR.format(selector=" -l strimzi.io/kind=cluster-operator")
        + """for pod in $(kubectl get pods -A -o name -l app=strimzi-drain-cleaner); do
  take logs/drain-cleaner.log kubectl -n "${DRAIN_CLEANER_NAMESPACE:-strimzi-drain-cleaner}" logs "$pod" --since-time="$SINCE"
done
take resources.yaml kubectl -n "$NAMESPACE" get strimzi -o yaml
""",
    ),
    "cfk": (
        "the pods of one namespace and the operator of Confluent for Kubernetes",
        (_NAMESPACE, "OPERATOR_NAMESPACE=${OPERATOR_NAMESPACE:-$NAMESPACE}", _SINCE),
        _PODS + _OF_OPERATOR.format(selector=" -l app=confluent-operator"),
    ),
    "ecs": (
        "the tasks of an ECS service, whose logs are in CloudWatch",
        ("CLUSTER=${CLUSTER:-default}", "SERVICE=${SERVICE:?name of the service}", "LOG_GROUP=${LOG_GROUP:?name of the log group}", "HOURS=${HOURS:-6}"),
        """
# Why tasks stopped; ECS keeps that for an hour.
for status in RUNNING STOPPED; do
  take "tasks-$status.txt" aws ecs list-tasks --cluster "$CLUSTER" --service-name "$SERVICE" --desired-status "$status" --query 'taskArns[]' --output text
  tasks=$(cat "$OUT/tasks-$status.txt" 2> /dev/null)
  for task in $tasks; do
    take "tasks/$(basename "$task").json" aws ecs describe-tasks --cluster "$CLUSTER" --tasks "$task"
  done
done
take events.json aws ecs describe-services --cluster "$CLUSTER" --services "$SERVICE" --query 'services[].events'
take streams.txt aws logs describe-log-streams --log-group-name "$LOG_GROUP" --query 'logStreams[].logStreamName' --output text
streams=$(cat "$OUT/streams.txt" 2> /dev/null)
for stream in $streams; do
  take "logs/$(echo "$stream" | tr / _).log" aws logs tail "$LOG_GROUP" --log-stream-names "$stream" --since "${HOURS}h" --format short
done
""",
    ),
}  # fmt: skip

#: What shows how a process ended there.
_END_OF = {
    "docker": "`docker inspect CONTAINER` (exit code, time, `OOMKilled`)",
    "kubernetes": "`kubectl get pod POD -o yaml` (the last state of its container)",
    "strimzi": "`kubectl get pod POD -o yaml` (the last state of its container), and the operator's log",
}
#: Causes that such files decide.
_OPEN = {"process_killed", "process_paused", "process_restarted"}

#: The names of the platforms.
PLATFORMS = tuple(_SCRIPTS)


def script(platform: str) -> str:
    """Return the script that collects on a platform, one of `PLATFORMS`."""
    what, variables, commands = _SCRIPTS[platform]
    head = _BEGIN.format(what=what, variables="\n".join(variables), head=HEAD, version=__version__)
    return head + commands + _END


def deciding(report: Report) -> str | None:
    """Return the file that would decide what happened to a process, and the command that fetches it; None if nothing is open or the platform is unknown."""
    platform = platform_of(report)
    for incident in report.incidents:
        causes, facts = {incident["cause"], *(incident.get("alternatives") or ())}, incident.get("facts") or {}
        is_open = causes & _OPEN and facts.get("machine") in (None, "not_gc") and not facts.get("unsure_how")
        if platform and incident["subject"] and is_open:
            return (
                f"{_END_OF[platform]} of {incident['subject']}; `forensics collect --print {platform}` prints a script that fetches this and all else"
            )
    return None


def platform_of(report: Report) -> str | None:
    """Return the platform on which the evidence was printed, if a file shows it."""
    files = [f for f in report.case["source_files"] if f.get("status", "read") == "read"]
    kinds = {f.get("kind") for f in files}
    events = {layout for f in files for layout in dict(f.get("layouts") or {})}
    if any(f["path"] and "strimzi" in f["path"].lower() for f in files) or {"strimzi", "strimzi, level unpadded"} & events:
        return "strimzi"
    if "kubernetes" in kinds or any("/var/log/pods/" in f"/{f['path']}" for f in files if f["path"]):
        return "kubernetes"
    return "docker" if "docker" in kinds else None
