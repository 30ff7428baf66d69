-- What lets a database of a million runs answer within a second. Indexes hold all that a list, a history or a comparison looks at, so
-- that runs, verdicts and times, which are long, are read for what is shown alone.
DROP INDEX run_by_session;
CREATE INDEX run_by_session ON run (session_id, case_id, status);
DROP INDEX run_by_case;
CREATE INDEX run_by_case ON run (case_id, implementation_id, seed, device, status, run_ulid, session_id, plan_id, started_utc);
CREATE INDEX run_listed ON run (run_ulid, status, case_id, implementation_id, session_id, started_utc, plan_id);
CREATE INDEX verdict_extremes ON verdict (run_id, headroom, ulp_max);
CREATE INDEX timing_status ON timing (run_id, status);

-- The newest run of each implementation on each case. Triggers keep it, whoever writes.
CREATE TABLE newest (
  case_id        INTEGER NOT NULL REFERENCES test_case,
  implementation TEXT NOT NULL,              -- its name
  run_id         INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
  PRIMARY KEY (case_id, implementation)
) STRICT, WITHOUT ROWID;
CREATE INDEX newest_by_run ON newest (run_id);
INSERT INTO newest (case_id, implementation, run_id)
  SELECT case_id, name, run_id FROM (
    SELECT r.case_id, i.name, r.run_id, max(r.run_ulid) FROM run r JOIN implementation i USING (implementation_id)
    WHERE r.status <> 'INTERRUPTED' GROUP BY r.case_id, i.name);
CREATE TRIGGER newest_of_recorded AFTER UPDATE OF status ON run WHEN NEW.status <> 'INTERRUPTED' BEGIN
  INSERT INTO newest (case_id, implementation, run_id)
    SELECT NEW.case_id, i.name, NEW.run_id FROM implementation i WHERE i.implementation_id = NEW.implementation_id
    ON CONFLICT DO UPDATE SET run_id = excluded.run_id
    WHERE (SELECT run_ulid FROM run WHERE run_id = excluded.run_id) > (SELECT run_ulid FROM run WHERE run_id = newest.run_id);
END;
CREATE TRIGGER newest_of_merged AFTER INSERT ON run WHEN NEW.status <> 'INTERRUPTED' BEGIN
  INSERT INTO newest (case_id, implementation, run_id)
    SELECT NEW.case_id, i.name, NEW.run_id FROM implementation i WHERE i.implementation_id = NEW.implementation_id
    ON CONFLICT DO UPDATE SET run_id = excluded.run_id
    WHERE (SELECT run_ulid FROM run WHERE run_id = excluded.run_id) > (SELECT run_ulid FROM run WHERE run_id = newest.run_id);
END;

DROP VIEW speed;
DROP VIEW disagreements;
DROP VIEW latest;
-- from newest to history, in this order: it is short
CREATE VIEW latest AS SELECT h.* FROM newest n CROSS JOIN history h ON h.run_id = n.run_id;
CREATE VIEW disagreements AS
  SELECT 'run' AS kind, run_ulid, NULL AS other_run_ulid, op, pass, dtype, dims_json, implementation, NULL AS other_implementation, status,
         message
  FROM latest WHERE weight = 'bad'
  UNION ALL
  SELECT 'pair', a.run_ulid, b.run_ulid, a.op, a.pass, a.dtype, a.dims_json, a.implementation, b.implementation, a.status,
         d.output || ': ' || d.n_different || ' of ' || d.n || ' elements differ'
  FROM newest n JOIN difference d ON d.run_a_id = n.run_id JOIN latest a ON a.run_id = d.run_a_id JOIN latest b ON b.run_id = d.run_b_id
  WHERE a.weight = 'good' AND b.weight = 'good' AND d.ulp_max_class <> 'finite';
CREATE VIEW speed AS
  SELECT l.*, t.regime, t.n, t.median_ns, t.low_ns, t.high_ns, t.n_discarded, t.bytes, t.flops, t.status AS timing_status,
         t.bytes / t.median_ns AS gigabytes_per_second, t.flops / t.median_ns AS gigaflops_per_second
  FROM latest l JOIN timing t USING (run_id);
