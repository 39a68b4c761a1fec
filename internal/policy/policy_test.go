package policy_test

import (
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/internal/policy"
	"github.com/trendvidstream/ingest/internal/terms"
)

func TestEachClauseIsJudged(t *testing.T) {
	now := time.Date(2026, 2, 14, 9, 40, 0, 0, time.UTC)
	clauses := map[string]terms.Clause{}
	for _, name := range terms.Names() {
		clauses[name] = terms.Clause{Source: "https://a.example/" + name, Read: "2026-11"}
	}
	clauses[terms.Retention] = terms.Clause{Source: "https://a.example/", Read: "2026-11", Days: 30}
	clauses[terms.UnusedQuota] = terms.Clause{Source: "https://a.example/", Read: "2026-11", Days: 90}
	quiet := policy.Facts{Account: "default", Searched: []string{"/d"}, NoMetrics: true, Now: now, LastUsed: now}
	for _, tt := range []struct {
		clause  string
		change  func(*policy.Facts)
		want    policy.Status
		says    string
		refused bool
	}{
		{terms.OneProject, func(*policy.Facts) {}, policy.Kept, "account default", false},
		{terms.OneProject, func(f *policy.Facts) { f.Others = []string{"b", "c"} }, policy.NotKept, "account b, c", true},
		{terms.Retention, func(*policy.Facts) {}, policy.Kept, "no copy is older than 30 days in /d", false},
		{terms.Retention, func(f *policy.Facts) { f.Copies = []string{"1", "2", "3", "4", "5"} }, policy.NotKept, "1, 2, 3 and 2 more", false},
		{terms.Retention, func(f *policy.Facts) { f.Unread = []string{"/root"} }, policy.Yours, "cannot look for old copies in /root", false},
		{terms.DerivedMetrics, func(*policy.Facts) {}, policy.Kept, "derived_metrics: off", false},
		{terms.DerivedMetrics, func(f *policy.Facts) { f.NoMetrics = false }, policy.Yours, "ranks moved", false},
		{terms.Attribution, func(*policy.Facts) {}, policy.Kept, "only this machine", false},
		{terms.Attribution, func(f *policy.Facts) { f.Reachable, f.OwnFrontEnd = ":80", true }, policy.Yours, "your front end", false},
		{terms.OwnFrontEnd, func(f *policy.Facts) { f.Reachable = ":80" }, policy.NotKept, "others can reach :80", true},
		{terms.OwnFrontEnd, func(f *policy.Facts) { f.Reachable, f.OwnFrontEnd = ":80", true }, policy.Yours, "own_front_end: true says", false},
		{terms.UnusedQuota, func(f *policy.Facts) { f.LastUsed = time.Time{} }, policy.Kept, "nothing was fetched", false},
		{terms.UnusedQuota, func(f *policy.Facts) { f.Now = now.AddDate(0, 0, 90).Add(-time.Second) }, policy.Kept, "last used on 2026-02-14", false},
		{terms.UnusedQuota, func(f *policy.Facts) { f.Now = now.AddDate(0, 0, 90) }, policy.NotKept, "since 2026-02-14", false},
	} {
		f := quiet
		tt.change(&f)
		verdicts := policy.Judge(clauses, f)
		if len(verdicts) != len(clauses) {
			t.Fatalf("%d verdicts of %d clauses", len(verdicts), len(clauses))
		}
		for _, v := range verdicts {
			if v.Clause != tt.clause {
				continue
			}
			if v.Status != tt.want || !strings.Contains(v.Detail, tt.says) || (v.Status == policy.NotKept) != (v.Advice != "") || v.Read != "2026-11" {
				t.Errorf("%s: %+v, want %s and %q", tt.clause, v, tt.want, tt.says)
			}
		}
		if err := policy.Refusal(verdicts); (err != nil) != tt.refused {
			t.Errorf("%s, %q: refused: %v, want %v", tt.clause, tt.says, err, tt.refused)
		}
	}
	if got := policy.Judge(nil, policy.Facts{Reachable: ":80"}); len(got) != 0 || policy.Refusal(got) != nil {
		t.Errorf("without clauses nothing is judged: %+v", got)
	}
	got := policy.Judge(nil, policy.Facts{Account: "a", Others: []string{"b"}, Reachable: ":80"})
	if err := policy.Refusal(got); len(got) != 1 || err == nil || !strings.Contains(err.Error(), "write account: b") || strings.Contains(err.Error(), "policy") {
		t.Errorf("an account that was renamed is refused without a clause, too: %+v", got)
	}
}

// Data is deleted at 29 days: a provider that allows fewer is not obeyed, and it is not said that it is.
func TestAShorterRetentionIsNotKept(t *testing.T) {
	for days, want := range map[int]policy.Status{7: policy.NotKept, 28: policy.NotKept, 29: policy.Kept, 30: policy.Kept, 400: policy.Kept} {
		clauses := map[string]terms.Clause{terms.Retention: {Source: "https://a.example/", Read: "2026-11", Days: days}}
		v := policy.Judge(clauses, policy.Facts{Searched: []string{"/d"}})[0]
		if v.Status != want || !strings.Contains(v.Detail, "29 days") {
			t.Errorf("%d days are allowed: %+v, want %s", days, v, want)
		}
	}
}
