-- A failure of a library's row that a documented finding covers.
INSERT INTO status (status, weight) VALUES ('KNOWN', 'neutral');
