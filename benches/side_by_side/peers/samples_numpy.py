"""The figures of FILE's samples by numpy, as one line of JSON. Whole nanoseconds, eight bytes each."""

import json
import sys
import time

import numpy

QUANTILES = [0.25, 0.5, 0.75, 0.9, 0.99, 0.999]

values = numpy.fromfile(sys.argv[1], dtype="<i8")
start = time.process_time()
figures = {
    "count": values.size,
    "min": int(values.min()),
    "max": int(values.max()),
    "mean": float(values.mean()),
    "sd": float(values.std(ddof=1)),
    "quantiles": [int(value) for value in numpy.quantile(values, QUANTILES, method="inverted_cdf")],
}
figures["cpu_s"] = time.process_time() - start
print(json.dumps(figures))
