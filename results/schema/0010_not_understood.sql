-- Bad as triad reads a file of the user's, where that reading rests on a guess.
INSERT INTO status (status, weight) VALUES ('NOT_UNDERSTOOD', 'neutral');
