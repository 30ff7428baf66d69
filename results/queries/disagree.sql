-- which implementations disagree: latest runs that are wrong, and pairs of good ones of which one alone gives NaN or
-- an infinity
SELECT op, pass, dtype, dims_json, implementation, other_implementation, status, message, run_ulid
FROM disagreements
ORDER BY op, pass, dtype, implementation
