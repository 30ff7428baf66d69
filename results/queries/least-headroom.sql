-- good runs with the least headroom: how many times the largest error fits into what is accepted
SELECT op, pass, dtype, implementation, round(headroom, 4) AS headroom, dims_json, distribution, run_ulid
FROM latest
WHERE weight = 'good' AND headroom IS NOT NULL
ORDER BY headroom
LIMIT 50
