-- Version 5: which series may have placed a video is known without a look into placements; of old ones any may.
-- And where each word of the index stands can be read.

ALTER TABLE video_latest ADD COLUMN charted INTEGER NOT NULL DEFAULT -1;

CREATE VIRTUAL TABLE video_places USING fts5vocab (video_text, instance);
