-- Version 2: see charted_blocks in ../../schema.sql.

CREATE TABLE charted_blocks (
    bit   bigint NOT NULL,
    block bigint NOT NULL,
    bits  bytea  NOT NULL,
    PRIMARY KEY (bit, block)
);

CREATE FUNCTION with_bit(bits bytea, id bigint) RETURNS bytea LANGUAGE sql IMMUTABLE AS $$
    SELECT set_bit(coalesce(bits, decode(repeat('00', 512), 'hex')), id % 4096, 1)
$$;

CREATE AGGREGATE bits_of (bigint) (SFUNC = with_bit, STYPE = bytea);

INSERT INTO charted_blocks (bit, block, bits)
SELECT bit, video / 4096, bits_of(video) FROM (SELECT DISTINCT series % 63 AS bit, video FROM placements) AS charted GROUP BY 1, 2;

DROP AGGREGATE bits_of (bigint);
DROP FUNCTION with_bit(bytea, bigint);
