"""Reads a run with polars and with DuckDB, as they are, and prints what each found as JSON.

Usage: read_run.py RUN
"""

import json
import math
import sys

import duckdb
import polars

TABLES = ["records", "trials", "noise", "clock_reads", "hops", "series"]
STAMPS = ["t_send", "t_sched", "t_tx", "r_rx", "r_user", "r_tx", "t_rx", "t_recv"]
QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p999": 0.999}


def with_polars(run):
    tables = {table: polars.read_parquet(f"{run}/{table}.parquet") for table in TABLES}
    answered = tables["records"].filter(polars.col("outcome").is_in(["ok", "late"]))
    answered = answered.filter(polars.col("to_t_recv").is_not_null())
    response = answered.select(polars.sum_horizontal("^to_.*$")).to_series().sort()
    stamps = tables["records"].with_columns(stamps_with_polars(tables["records"].columns))
    return {
        "rows": {table: frame.height for table, frame in tables.items()},
        "columns": tables["records"].columns,
        "types": {name: str(kind) for name, kind in tables["records"].schema.items()},
        "outcomes": dict(tables["records"].group_by("outcome").len().iter_rows()),
        "refused_by": tables["records"]["refused_by"].drop_nulls().unique().sort().to_list(),
        "stamps": {name: stamps[name].to_list() for name in STAMPS},
        "noise_ns": tables["records"]["noise_ns"].sum(),
        "noise_who": tables["noise"].sort("trial", "start")["who"].to_list(),
        "backlog": sorted(
            tables["series"]
            .filter((polars.col("series") == "backlog") & (polars.col("t") > 0))["mean"]
            .unique()
        ),
        "ports": tables["hops"]["port"].unique().sort().to_list(),
        "started_utc": str(tables["trials"]["started_utc"][0]),
        "labels": tables["trials"].sort("trial", "probe")["factor_size"].to_list(),
        "response": {
            "count": response.len(),
            "min": response.min(),
            "mean": response.mean(),
            "sd": response.std(ddof=1),
            "max": response.max(),
            **{name: nearest_rank(response, q) for name, q in QUANTILES.items()},
        },
    }


def stamps_with_polars(columns):
    """Each stamp as a time: where it is, the differences up to it."""
    to = [column for column in columns if column.startswith("to_")]
    for n, column in enumerate(to):
        time = polars.col("t_intended") + polars.sum_horizontal(to[: n + 1])
        yield polars.when(polars.col(column).is_not_null()).then(time).alias(column[3:])


def nearest_rank(ordered, q):
    """The smallest value with at least q·n values at or below it."""
    return ordered[max(math.ceil(q * ordered.len()) - 1, 0)]


def with_duckdb(run):
    def rows(query):
        return duckdb.sql(query.format(run=run)).fetchall()

    records = "'{run}/records.parquet'"
    delay = "list_sum([*COLUMNS('to_.*')])"
    answered = f"FROM {records} WHERE outcome IN ('ok', 'late') AND to_t_recv IS NOT NULL"
    quantiles = ", ".join(f"quantile_disc(delay, {q})" for q in QUANTILES.values())
    figures = "count(*), min(delay), avg(delay), stddev_samp(delay), max(delay)"
    response = rows(f"SELECT {figures}, {quantiles} FROM (SELECT {delay} AS delay {answered})")[0]
    stamps = zip(*rows(f"SELECT {stamps_with_duckdb()} FROM {records} ORDER BY trial, probe, seq"))
    described = rows(f"DESCRIBE SELECT * FROM {records}")
    return {
        "rows": {
            table: rows(f"SELECT count(*) FROM '{{run}}/{table}.parquet'")[0][0]
            for table in TABLES
        },
        "columns": [row[0] for row in described],
        "types": {row[0]: row[1] for row in described},
        "outcomes": dict(rows(f"SELECT outcome, count(*) FROM {records} GROUP BY outcome")),
        "refused_by": [
            row[0]
            for row in rows(
                f"SELECT DISTINCT refused_by FROM {records}"
                " WHERE refused_by IS NOT NULL ORDER BY refused_by"
            )
        ],
        "stamps": dict(zip(STAMPS, map(list, stamps))),
        "noise_ns": int(rows(f"SELECT sum(noise_ns) FROM {records}")[0][0]),
        "noise_who": [
            row[0] for row in rows("SELECT who FROM '{run}/noise.parquet' ORDER BY trial, start")
        ],
        "backlog": [
            row[0]
            for row in rows(
                "SELECT DISTINCT mean FROM '{run}/series.parquet'"
                " WHERE series = 'backlog' AND t > 0 ORDER BY mean"
            )
        ],
        "ports": [
            row[0]
            for row in rows("SELECT DISTINCT port FROM '{run}/hops.parquet' ORDER BY port")
        ],
        "started_utc": rows(
            "SELECT strftime(started_utc AT TIME ZONE 'UTC', '%Y-%m-%d %H:%M:%S+00:00')"
            " FROM '{run}/trials.parquet' LIMIT 1"
        )[0][0],
        "labels": [
            row[0]
            for row in rows("SELECT factor_size FROM '{run}/trials.parquet' ORDER BY trial, probe")
        ],
        "response": dict(zip(["count", "min", "mean", "sd", "max", *QUANTILES], response)),
    }


def stamps_with_duckdb():
    def time(n):
        differences = ", ".join(f"to_{stamp}" for stamp in STAMPS[: n + 1])
        return f"CASE WHEN to_{STAMPS[n]} IS NOT NULL THEN t_intended + list_sum([{differences}]) END"

    return ", ".join(time(n) for n in range(len(STAMPS)))


def main():
    run = sys.argv[1]
    print(json.dumps({"polars": with_polars(run), "duckdb": with_duckdb(run)}))


main()
