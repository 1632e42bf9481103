"""The figures of FILE's samples by polars, as one line of JSON. Whole nanoseconds, eight bytes each."""

import json
import sys
import time

import numpy
import polars

QUANTILES = [0.25, 0.5, 0.75, 0.9, 0.99, 0.999]

frame = polars.DataFrame({"value": numpy.fromfile(sys.argv[1], dtype="<i8")})
value = polars.col("value")
start = time.process_time()
row = frame.select(
    value.len().alias("count"),
    value.min().alias("min"),
    value.max().alias("max"),
    value.mean().alias("mean"),
    value.std(ddof=1).alias("sd"),
    *(value.quantile(q, interpolation="equiprobable").alias(str(q)) for q in QUANTILES),
).row(0, named=True)
cpu_s = time.process_time() - start
quantiles = [int(row.pop(str(q))) for q in QUANTILES]
print(json.dumps({**row, "quantiles": quantiles, "cpu_s": cpu_s}))
