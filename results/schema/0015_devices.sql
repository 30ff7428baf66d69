-- Flags that say how a user's file is compiled and called, '' where none were given. source_hash is of the file and what it includes; where
-- flags were given, + and a hash of them follow, so that their results keep apart.
ALTER TABLE implementation ADD COLUMN flags TEXT NOT NULL DEFAULT '';

-- The newest run of each implementation on each case and device. What reached no device (device '') counts until there is a newer run.
DROP VIEW speed;
DROP VIEW disagreements;
DROP VIEW latest;
DROP VIEW history;
DROP TRIGGER newest_of_recorded;
DROP TRIGGER newest_of_merged;
DROP TABLE newest;
CREATE TABLE newest (
  case_id        INTEGER NOT NULL REFERENCES test_case,
  implementation TEXT NOT NULL,              -- its name
  device         TEXT NOT NULL,
  run_id         INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
  PRIMARY KEY (case_id, implementation, device)
) STRICT, WITHOUT ROWID;
CREATE INDEX newest_by_run ON newest (run_id);
INSERT INTO newest (case_id, implementation, device, run_id)
  SELECT case_id, name, device, run_id FROM (
    SELECT r.case_id, i.name, r.device, r.run_id, max(r.run_ulid) FROM run r JOIN implementation i USING (implementation_id)
    WHERE r.status <> 'INTERRUPTED' GROUP BY r.case_id, i.name, r.device);
DELETE FROM newest WHERE device = '' AND EXISTS (
  SELECT 1 FROM newest n JOIN run r ON r.run_id = n.run_id
  WHERE n.case_id = newest.case_id AND n.implementation = newest.implementation
    AND r.run_ulid > (SELECT run_ulid FROM run WHERE run_id = newest.run_id));
CREATE TRIGGER newest_of_recorded AFTER UPDATE OF status ON run WHEN NEW.status <> 'INTERRUPTED' BEGIN
  INSERT INTO newest (case_id, implementation, device, run_id)
    SELECT NEW.case_id, i.name, NEW.device, NEW.run_id FROM implementation i WHERE i.implementation_id = NEW.implementation_id
    ON CONFLICT DO UPDATE SET run_id = excluded.run_id
    WHERE (SELECT run_ulid FROM run WHERE run_id = excluded.run_id) > (SELECT run_ulid FROM run WHERE run_id = newest.run_id);
  DELETE FROM newest WHERE device = '' AND case_id = NEW.case_id
    AND implementation = (SELECT name FROM implementation WHERE implementation_id = NEW.implementation_id) AND EXISTS (
      SELECT 1 FROM newest n JOIN run r ON r.run_id = n.run_id
      WHERE n.case_id = newest.case_id AND n.implementation = newest.implementation
        AND r.run_ulid > (SELECT run_ulid FROM run WHERE run_id = newest.run_id));
END;
CREATE TRIGGER newest_of_merged AFTER INSERT ON run WHEN NEW.status <> 'INTERRUPTED' BEGIN
  INSERT INTO newest (case_id, implementation, device, run_id)
    SELECT NEW.case_id, i.name, NEW.device, NEW.run_id FROM implementation i WHERE i.implementation_id = NEW.implementation_id
    ON CONFLICT DO UPDATE SET run_id = excluded.run_id
    WHERE (SELECT run_ulid FROM run WHERE run_id = excluded.run_id) > (SELECT run_ulid FROM run WHERE run_id = newest.run_id);
  DELETE FROM newest WHERE device = '' AND case_id = NEW.case_id
    AND implementation = (SELECT name FROM implementation WHERE implementation_id = NEW.implementation_id) AND EXISTS (
      SELECT 1 FROM newest n JOIN run r ON r.run_id = n.run_id
      WHERE n.case_id = newest.case_id AND n.implementation = newest.implementation
        AND r.run_ulid > (SELECT run_ulid FROM run WHERE run_id = newest.run_id));
END;

-- What is wrong has no headroom.
UPDATE verdict SET headroom = NULL, headroom_class = NULL
  WHERE headroom_class IS NOT NULL AND status IN (SELECT status FROM status WHERE weight = 'bad');
CREATE VIEW history AS
  SELECT r.run_id, r.run_ulid, s.session_ulid, r.recorded_utc, c.op, c.pass, c.dtype, c.dims_json, c.attributes_json, c.layout, c.distribution,
         c.upstream, c.saved, c.case_key, r.seed, i.name AS implementation, i.backend, i.variant, i.source_hash, i.flags, r.device, r.status,
         w.weight, r.contract, r.message, r.harness_wall_ns, s.version, s.commit_hash,
         CASE WHEN w.weight <> 'bad' THEN (SELECT min(headroom) FROM verdict v WHERE v.run_id = r.run_id) END AS headroom,
         (SELECT max(ulp_max) FROM verdict v WHERE v.run_id = r.run_id) AS ulp_max
  FROM run r
  JOIN session s USING (session_id)
  JOIN test_case c USING (case_id)
  JOIN implementation i USING (implementation_id)
  JOIN status w USING (status)
  WHERE r.status <> 'INTERRUPTED';
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
