-- What went wrong inside triad and ended the session: a line of what was being done, then the stack. NULL where nothing did.
ALTER TABLE session ADD COLUMN internal_error TEXT;
