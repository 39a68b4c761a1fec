-- Version 3: in the index a token begins with "=", which no token has, if it is in the title or in the channel's name,
-- and does not if it is in the tags only. So what is named so is found without reading the positions of everything that is
-- tagged so, and the planner knows how many there are.

-- Vectors are made by the program: see vector.go.
DROP FUNCTION words(text, text, text);
DROP FUNCTION tokens(text, bigint, text);

CREATE OR REPLACE FUNCTION count_words() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP <> 'INSERT' THEN
        UPDATE video_words SET doc = doc - gone.n
        FROM (SELECT ltrim(word, '=') AS token, count(*) AS n FROM before, unnest(tsvector_to_array(words)) AS word GROUP BY 1) AS gone
        WHERE term = gone.token;
        DELETE FROM video_words WHERE doc <= 0 AND term IN (SELECT ltrim(unnest(tsvector_to_array(words)), '=') FROM before);
    END IF;
    IF TG_OP <> 'DELETE' THEN
        INSERT INTO video_words AS w (term, doc)
        SELECT ltrim(word, '=') COLLATE "C", count(*) FROM after, unnest(tsvector_to_array(words)) AS word GROUP BY 1 ORDER BY 1
        ON CONFLICT (term) DO UPDATE SET doc = w.doc + excluded.doc;
    END IF;
    RETURN NULL;
END $$;

CREATE TEMPORARY TABLE moved ON COMMIT DROP AS
SELECT rowid, (
    SELECT coalesce(string_agg('''' || CASE WHEN weights && '{A,B}' THEN '=' ELSE '' END || replace(replace(lexeme, '\', '\\'), '''', '''''') || ''':' || places, ' '), '')
    FROM (SELECT lexeme, weights, (SELECT string_agg(at || weight, ',') FROM unnest(positions, weights) AS place (at, weight)) AS places FROM unnest(words)) AS lexemes
)::tsvector AS words FROM video_text ORDER BY rowid;

TRUNCATE video_text;
DROP INDEX video_text_words;
ALTER TABLE video_text DISABLE TRIGGER USER;
INSERT INTO video_text SELECT rowid, words FROM moved;
ALTER TABLE video_text ENABLE TRIGGER USER;
-- What a few pages add is merged into the index at once; until then a search reads it beside: 256 kB at most.
CREATE INDEX video_text_words ON video_text USING gin (words) WITH (gin_pending_list_limit = 256);
ALTER TABLE video_text ALTER words SET STATISTICS 1000; -- counts ten thousand words, so that what a prefix finds is estimated well
ANALYZE video_text;
