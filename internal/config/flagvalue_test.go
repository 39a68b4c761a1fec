package config_test

import (
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/config"
)

func TestFlagsTakeTheirValuesAndDescribeThem(t *testing.T) {
	now := time.Date(2026, 11, 10, 12, 0, 0, 0, time.UTC)
	var (
		since   config.Since
		instant time.Time
		region  ingest.Region
		regions []ingest.Region
		order   = ingest.Newest
		span    time.Duration
		n       = 20
	)
	for _, c := range []struct {
		flag *config.FlagValue
		text string
		want string // of the error; "" for none
	}{
		{config.SinceFlag(&since), "yesterday", ` "yesterday": use a time ago such as 24h or 7d, a day such as 2026-11-01, or an RFC 3339 time such as 2026-11-01T09:00:00Z`},
		{config.SinceFlag(&since), "-3h", ` "-3h": use a time ago such as 24h or 7d, a day such as 2026-11-01, or an RFC 3339 time such as 2026-11-01T09:00:00Z`},
		{config.SinceFlag(&since), "7d", ""},
		{config.InstantFlag(&instant), "7d", ` "7d": use a day such as 2026-11-01, which begins at 00:00 UTC, or an RFC 3339 time such as 2026-11-01T09:00:00Z`},
		{config.InstantFlag(&instant), "2026-11-01T09:00:00+02:00", ""},
		{config.RegionFlag(&region), "UK", `: unknown region "UK": did you mean GB?`},
		{config.RegionFlag(&region), "de", ""},
		{config.RegionsFlag(&regions), "US,US", ": region US is named twice"},
		{config.RegionsFlag(&regions), "US,gb", ""},
		{config.Choice(&order, ingest.Newest, ingest.Oldest), "best", ` "best": use newest or oldest`},
		{config.Choice(&order, ingest.Newest, ingest.Oldest), "oldest", ""},
		{config.SpanFlag(&span, "", time.Hour), "30m", ` "30m": use a length of time such as 24h or 7d, from 1h0m0s on`},
		{config.SpanFlag(&span, "", time.Hour), "2d", ""},
		{config.Count(&n, 1, 50), "51", " 51 is outside 1..50"},
		{config.Count(&n, 1, 0), "0", " 0 is below 1"},
		{config.Count(&n, 1, 0), "many", ` "many": use a whole number`},
		{config.Count(&n, 1, 50), "30", ""},
	} {
		before := c.flag.String()
		switch err := c.flag.Set(c.text); {
		case c.want == "" && (err != nil || c.flag.String() != c.text):
			t.Errorf("%s: %v, and then %q", c.text, err, c.flag)
		case c.want != "" && (err == nil || err.Error() != c.want || c.flag.String() != before):
			t.Errorf("%s: %v, want %s", c.text, err, c.want)
		}
	}
	if got := since.At(now); !got.Equal(now.AddDate(0, 0, -7)) {
		t.Errorf("7 days before are %s", got)
	}
	if !instant.Equal(time.Date(2026, 11, 1, 7, 0, 0, 0, time.UTC)) || region != "DE" || len(regions) != 2 ||
		order != ingest.Oldest || span != 48*time.Hour || n != 30 {
		t.Error(instant, region, regions, order, span, n)
	}
}
