-- Version 3: what a slot was charged, by pool. What was charged before is not known by pool: NULL.

ALTER TABLE slots ADD COLUMN charges TEXT;
