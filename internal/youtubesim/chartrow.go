package youtubesim

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// record is one line of a chart's CSV.
type record struct {
	columns map[string]int
	fields  []string
}

// get returns a field, "" if the file has no such column. It does not trim spaces.
func (r record) get(column string) string {
	if i, ok := r.columns[column]; ok && i < len(r.fields) {
		return strings.Clone(r.fields[i])
	}
	return ""
}

// number returns a count of 0 or more, nil if the field is empty. A float without a fraction, as data frames write it,
// is accepted.
func (r record) number(column string) (*int64, error) {
	s := strings.TrimSpace(r.get(column))
	if s == "" {
		return nil, nil
	}
	whole, fraction, _ := strings.Cut(s, ".")
	n, err := strconv.ParseInt(whole, 10, 64)
	if err != nil || n < 0 || strings.Trim(fraction, "0") != "" {
		return nil, fmt.Errorf("%s %q is no whole number from 0 on", column, s)
	}
	return &n, nil
}

// video returns the row as a video. Its counts are served as recorded: 0 as "0"; an empty count is left out.
func (r record) video(channels map[string]*channel) (*video, error) {
	v := &video{
		id: strings.TrimSpace(r.get("video_id")), title: r.get("title"), localized: r.get("localized_title"),
		category: r.get("category_id"), language: r.get("default_language"), audio: r.get("audio_language"),
		definition: r.get("definition"), live: "none", caption: isTrue(r.get("caption_available")),
		licensed: isTrue(r.get("licensed_content")),
	}
	if v.id == "" {
		return nil, errors.New("video_id is empty")
	}
	if v.localized == "" {
		v.localized = v.title
	}
	if v.definition != "sd" {
		v.definition = "hd"
	}
	if isTrue(r.get("is_live")) {
		v.live = "live"
	}
	if t := r.get("tags"); t != "" {
		v.tags = strings.Split(t, ", ")
	}
	v.channel = r.channel(channels)
	v.index()
	var errs [5]error
	v.final.views, errs[0] = r.number("views")
	v.final.likes, errs[1] = r.number("likes")
	v.final.comments, errs[2] = r.number("comments")
	v.duration, errs[3] = r.duration()
	v.published, errs[4] = r.published()
	return v, errors.Join(errs[:]...)
}

// channel returns the row's channel, shared by all rows with the same id and title.
func (r record) channel(channels map[string]*channel) *channel {
	id, title := r.get("channel_id"), r.get("channel_title")
	key := id + "\x00" + title
	if channels[key] == nil {
		channels[key] = &channel{id: id, title: title, handle: strings.ToLower(strings.TrimPrefix(id, "UC"))}
	}
	return channels[key]
}

// duration returns the column duration, in seconds, else duration_raw, in ISO 8601, else 0.
func (r record) duration() (time.Duration, error) {
	if n, err := r.number("duration"); err != nil || n != nil {
		if err != nil {
			return 0, err
		}
		return time.Duration(*n) * time.Second, nil
	}
	raw := strings.TrimSpace(r.get("duration_raw"))
	if raw == "" {
		return 0, nil
	}
	m := regexp.MustCompile(`^P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?$`).FindStringSubmatch(raw)
	if m == nil {
		return 0, fmt.Errorf("duration_raw %q is no ISO 8601 duration such as PT3M20S", raw)
	}
	var d time.Duration
	for i, unit := range []time.Duration{day, time.Hour, time.Minute, time.Second} {
		if n, err := strconv.Atoi(m[i+1]); err == nil {
			d += time.Duration(n) * unit
		}
	}
	return d, nil
}

// published reads a time in any format that exports write; without a zone it is UTC. Zero: not known.
func (r record) published() (time.Time, error) {
	s := strings.TrimSpace(r.get("published_at"))
	if s == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{
		time.RFC3339Nano, "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999",
		"2006-01-02T15:04:05.999999999", time.DateOnly,
	} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("published_at %q is no time such as 2026-02-14 05:38:04+00:00", s)
}

func isTrue(s string) bool {
	s = strings.ToLower(strings.TrimSpace(s))
	return s == "true" || s == "1" || s == "t" || s == "yes"
}
