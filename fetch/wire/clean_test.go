package wire_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch/wire"
)

func TestTextFromOutsideIsMadeFitForAnError(t *testing.T) {
	c := wire.Cleaner{Key: ingest.NewSecret(canary)}
	tests := map[string]struct{ in, want string }{
		"plain":                 {"Can't find object video for `id' parameter", "Can't find object video for `id' parameter"},
		"markup":                {"<p><b>502.</b> That&#39;s\n an <a href=x>error</a>.<script>x()</script>", "502. That's an error."},
		"escapes":               {"\x1b]0;x\x07\u202e\x00 hi", "]0;x hi"},
		"the key":               {"key " + canary + " is bad", "key *** is bad"},
		"the key in parts":      {canary[:9] + "<b></b>" + canary[9:12] + "\u202e" + canary[12:], "***"},
		"the key and a comment": {canary[:9] + "<!-- -->" + canary[9:], "***"},
		"the key and a script":  {canary[:9] + "<script>x</script >" + canary[9:], "***"},
		"the key and a tag":     {"is " + canary[:9] + "<br/>" + canary[9:12] + "<x y>" + canary[12:] + " bad", "is *** bad"},
		"the key, lines":        {canary[:9] + "\r\n " + canary[9:], "***"},
		"markup of entities":    {canary[:9] + "&lt;!-- --&gt;" + canary[9:], "***"},
		"the key in escapes":    {strings.ReplaceAll(canary, "_", "&#95;"), "***"},
		"invalid UTF-8":         {"a\xffb", "ab"},
		"too long":              {strings.Repeat("é", 70), strings.Repeat("é", 59) + "…"},
		"the key and tags":      {strings.Repeat("<p>", (8<<10)/3-2) + canary, "***"},
		"the key cut":           {strings.Repeat("x", 50) + canary, strings.Repeat("x", 50) + "***"},
	}
	for name, tt := range tests {
		if got := c.Text(tt.in, 60); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
	if got := (wire.Cleaner{}).Text("<i>no</i> key", 40); got != "no key" {
		t.Errorf("the zero Cleaner: %q, want \"no key\"", got)
	}
}

func TestAWrappedErrorIsStillAskedForItsKind(t *testing.T) {
	c := wire.Cleaner{Key: ingest.NewSecret(canary)}
	plain := c.Wrap("it broke", fmt.Errorf("reading: %w", context.Canceled))
	if !errors.Is(plain, context.Canceled) || plain.Error() != "it broke: reading: context canceled" {
		t.Errorf("%v, want error %v and \"it broke: reading: context canceled\"", plain, context.Canceled)
	}
	held := c.Wrap("it broke", fmt.Errorf("%s: %w", canary, context.DeadlineExceeded))
	if !errors.Is(held, context.DeadlineExceeded) {
		t.Errorf("its kind is lost: %v, want error %v", held, context.DeadlineExceeded)
	}
	holdsNoKey(t, held)
}

func TestTheStandardLogRepeatsNothingOfAServer(t *testing.T) {
	for said, want := range map[string]string{
		fmt.Sprintf("starting with %q; err=%v", canary, context.Canceled): `starting with "***"; err=context canceled`,
		fmt.Sprintf("%q and %q", `a"b\`, canary[:9]):                      `"***" and "***"`,
		`"` + canary: `"***"`,
		"as it is":   "as it is",
	} {
		var out strings.Builder
		if n, err := (wire.StandardLog{To: &out}).Write([]byte(said)); n != len(said) || err != nil || out.String() != want {
			t.Errorf("%s becomes %s, %d, %v, want %s", said, out.String(), n, err, want)
		}
	}
}

func FuzzText(f *testing.F) {
	f.Add("<script>" + canary + "</script>")
	f.Add("&lt;b&gt;\x1b[31m\u202e")
	f.Add(canary[:5] + "\u200b" + canary[5:])
	c := wire.Cleaner{Key: ingest.NewSecret(canary)}
	f.Fuzz(func(t *testing.T, s string) {
		got := c.Text(s, 100)
		if strings.Contains(got, canary) || strings.ContainsAny(got, "\x1b\x00\n\r\u202e\u009b") || len([]rune(got)) > 100 {
			t.Errorf("%q becomes %q", s, got)
		}
	})
}
