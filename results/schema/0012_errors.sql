-- The largest distance of an output from the truth R, and the largest share that it is of |R| + 1e-8: formats of other tools ask for them.
ALTER TABLE verdict ADD COLUMN absolute_max REAL;
ALTER TABLE verdict ADD COLUMN absolute_max_class TEXT;
ALTER TABLE verdict ADD COLUMN relative_max REAL;
ALTER TABLE verdict ADD COLUMN relative_max_class TEXT;
