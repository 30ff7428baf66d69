-- the slowest against the roofline: the least share of what the rulers of its session allow, in percent
-- :regime = cold
SELECT s.op, s.pass, s.dtype, s.implementation, s.dims_json, s.attributes_json, round(s.median_ns / 1000, 2) AS median_us,
  round(100 * t.roofline, 1) AS roofline_percent, s.run_ulid
FROM speed s JOIN timing t ON t.run_id = s.run_id AND t.regime = s.regime
WHERE s.regime = :regime AND s.timing_status = 'PASS' AND t.roofline IS NOT NULL
ORDER BY t.roofline
LIMIT 50
