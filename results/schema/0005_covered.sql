-- Elements that were not compared one by one, but whose rows' sums under random signs were: what a sample of a product leaves out.
ALTER TABLE verdict ADD COLUMN n_covered INTEGER NOT NULL DEFAULT 0;
