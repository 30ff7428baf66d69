-- Why a run is wrong, of the runs that a search for the smallest wrong case began with: that case, what usually causes it, and what the emulator reported of it.
ALTER TABLE run ADD COLUMN diagnosis_json TEXT CHECK (diagnosis_json IS NULL OR json_valid(diagnosis_json));
