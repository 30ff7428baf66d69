-- What a verdict keeps of an output so that it can be decided again when a constant of the judge changes: docs/json.md says what is in it.
ALTER TABLE verdict ADD COLUMN statistics_json TEXT CHECK (statistics_json IS NULL OR json_valid(statistics_json));
