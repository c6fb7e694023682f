# SPDX-License-Identifier: Apache-2.0
"""Holding effects against their causes: nothing begins before what it is an effect of."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pyarrow.dataset as ds

from forensics.case import view_files
from forensics.causes.effects import effects
from forensics.relations.inputs import Inputs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from forensics.case.folder import Case

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def early(case: Case) -> list[str]:
    """Name every occurrence that surely began before its incident or its finding's cause did, and every finding of two incidents."""

    def rows(view: str) -> list[dict]:
        return ds.dataset(case.view_path(view), format="parquet").to_table().to_pylist()

    def paths(name: str) -> Sequence[str]:
        return case.tables().get(name) or [str(case.view_path(name))]

    incidents = {i["incident_id"]: i for i in rows("incident")}
    findings = {f["finding_id"]: f for f in rows("finding")}
    begun: dict[str, datetime] = {}
    inputs = Inputs(lambda name: [ds.dataset(path, format="parquet") for path in paths(name)], view_files.thresholds())
    for key in effects(inputs.of(view_files.views()["occurrence"].reads)):
        if key["begun_ms"] is not None:
            at = EPOCH + timedelta(milliseconds=key["begun_ms"])
            begun[key["occurrence_id"]] = max(at, begun.get(key["occurrence_id"], at))
    of: dict[str, set[str]] = {}
    first: dict[str, datetime] = {}
    found = []
    for one in rows("occurrence"):
        of.setdefault(one["finding_id"], set()).add(one["incident_id"])
        if one["from_ts"] is None:
            continue
        begins = begun.get(one["occurrence_id"], one["from_ts"])
        first[one["finding_id"]] = min(begins, first.get(one["finding_id"], begins))
        what = f"{one['rule']} of {one['subject']} at {one['from_ts']}"
        since = incidents[one["incident_id"]]["from_lo"] if one["incident_id"] else None
        if since and begins < since:
            found.append(f"{what} began before its incident at {since}")
        cause = findings[one["caused_by"]]["from_ts"] if one["caused_by"] else None
        if cause and begins < cause:
            found.append(f"{what} began before its cause at {cause}")
    for finding_id, f in findings.items():
        cause = findings[f["caused_by"]]["from_ts"] if f["caused_by"] else None
        if cause and finding_id in first and first[finding_id] < cause:
            found.append(f"{f['rule']} at {f['from_ts']} began before the finding that caused it at {cause}")
    return found + [f"{findings[finding_id]['rule']} belongs to {len(ids)} incidents" for finding_id, ids in of.items() if len(ids) > 1]
