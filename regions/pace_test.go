package regions_test

import (
	"slices"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/regions"
)

func TestAPacedJobsKeysTakeTurns(t *testing.T) {
	at := func(hour, minute int) time.Time { return time.Date(2026, 2, 14, hour, minute, 0, 0, time.UTC) }
	schedule, err := regions.NewSchedule([]ingest.Job{{Name: "chart", Kind: ingest.KindChart, Regions: []ingest.Region{"US", "GB", "DE"}, Every: 30 * time.Minute}})
	if err != nil {
		t.Fatal(err)
	}
	known := func(us, gb, de time.Time) map[ingest.Series]time.Time {
		return map[ingest.Series]time.Time{{Job: "chart", Key: "US"}: us, {Job: "chart", Key: "GB"}: gb, {Job: "chart", Key: "DE"}: de}
	}
	turn := known(at(10, 0), at(9, 0), at(9, 30))
	for _, tt := range []struct {
		name  string
		known map[ingest.Series]time.Time
		now   time.Time
		pace  regions.Pace
		want  []string
	}{
		{"its gap has not passed", turn, at(10, 29), regions.Pace{Gap: 30 * time.Minute, Last: at(10, 0), Most: 3}, nil},
		{"its gap has passed: the one whose newest slot is oldest", turn, at(10, 34), regions.Pace{Gap: 30 * time.Minute, Last: at(10, 0), Most: 3}, []string{"GB 10:30"}},
		{"two gaps have passed", turn, at(11, 4), regions.Pace{Gap: 30 * time.Minute, Last: at(10, 0), Most: 3}, []string{"GB 10:30", "DE 11:00"}},
		{"two have, and one can be paid for", turn, at(11, 4), regions.Pace{Gap: 30 * time.Minute, Last: at(10, 0), Most: 1}, []string{"GB 11:00"}},
		{"nothing can be paid for", turn, at(11, 4), regions.Pace{Gap: 30 * time.Minute, Last: at(10, 0), Hold: at(12, 0)}, nil},
		{"three have, and two can be paid for: the third turn is the next run's", turn, at(11, 34), regions.Pace{Gap: 30 * time.Minute, Last: at(10, 0), Most: 2}, []string{"GB 10:30", "DE 11:00"}},
		{"nothing ran for more than two rounds of GB and DE", turn, at(12, 20), regions.Pace{Gap: 30 * time.Minute, Last: at(10, 0), Most: 3}, []string{"GB 12:20"}},
		{"then they come as far as they can be paid for", turn, at(12, 20), regions.Pace{Gap: 15 * time.Minute, Last: at(10, 0), Most: 2}, []string{"GB 12:19", "DE 12:19"}},
		{"an empty table: each is due at once", nil, at(12, 20), regions.Pace{Gap: 30 * time.Minute, Most: 3}, []string{"US 12:00", "GB 12:10", "DE 12:20"}},
	} {
		paced := schedule.AtPace(map[string]regions.Pace{"chart": tt.pace})
		var got []string
		for _, slot := range paced.Due(tt.known, tt.now) {
			if slot.State != ingest.Due {
				t.Errorf("%s: %+v is %s, want %v", tt.name, slot.SlotKey, slot.State, ingest.Due)
			}
			got = append(got, slot.Key+slot.DueAt.Format(" 15:04"))
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
	paced := schedule.AtPace(map[string]regions.Pace{"chart": {Gap: 40 * time.Minute, Round: 2 * time.Hour, Last: at(10, 0), Most: 3}})
	if next := paced.Next(at(10, 5)); !next.Equal(at(10, 40)) {
		t.Errorf("next at %v", next)
	}
	us := ingest.Series{Job: "chart", Key: "US"}
	if paced.Stale(us, at(10, 0), at(15, 59), 3) || !paced.Stale(us, at(10, 0), at(16, 1), 3) || paced.Ahead(us, at(10, 0), 1) != 2*time.Hour {
		t.Error("at a pace of 2 h and a bound of 3 intervals: want fresh at 15:59, stale at 16:01, and the next chart 2 h ahead")
	}
	if free := paced.AtPace(nil); len(free.Due(turn, at(10, 5))) != 3 || free.Next(at(10, 5)) != schedule.Next(at(10, 5)) {
		t.Error("AtPace(nil): want 3 due slots, and the next time of the schedule itself")
	}
}

// From the end of the window that slows a job on, its slots come at the pace that the next window pays for. Charts that
// are overdue together keep their order.
func TestTurnsFollowTheNextWindow(t *testing.T) {
	at := func(hour, minute int) time.Time { return time.Date(2026, 2, 14, hour, minute, 0, 0, time.UTC) }
	schedule, err := regions.NewSchedule([]ingest.Job{{Name: "chart", Kind: ingest.KindChart, Regions: []ingest.Region{"US", "GB", "DE"}, Every: 30 * time.Minute}})
	if err != nil {
		t.Fatal(err)
	}
	l := ingest.Latest{Done: map[ingest.Series]ingest.Slot{}}
	for key, due := range map[string]time.Time{"US": at(10, 0), "GB": at(9, 0), "DE": at(9, 30)} {
		slot := ingest.SlotKey{Job: "chart", Key: key, DueAt: due}
		l.Done[slot.Series()] = ingest.Slot{SlotKey: slot, State: ingest.Done}
	}
	for _, tt := range []struct {
		name string
		pace regions.Pace
		want []string
	}{
		{"no end", regions.Pace{Gap: time.Hour}, []string{"GB 11:00", "DE 12:00", "US 13:00"}},
		{"faster from 11:30 on", regions.Pace{Gap: time.Hour, Eases: at(11, 30), Eased: 20 * time.Minute}, []string{"GB 11:00", "DE 11:30", "US 11:50"}},
		{"slower from 10:50 on", regions.Pace{Gap: 20 * time.Minute, Eases: at(10, 50), Eased: time.Hour}, []string{"GB 10:20", "DE 10:40", "US 11:40"}},
		{"nothing is left until 12:00", regions.Pace{Gap: 2 * time.Hour, Eases: at(12, 0), Eased: 20 * time.Minute, Hold: at(12, 0)}, []string{"GB 12:00", "DE 12:00", "US 12:00"}},
	} {
		tt.pace.Last, tt.pace.Most = at(10, 0), 3
		var got []string
		for _, slot := range schedule.AtPace(map[string]regions.Pace{"chart": tt.pace}).Upcoming(l, at(10, 5), 3, func(ingest.Series) bool { return true }) {
			got = append(got, slot.Key+slot.DueAt.Format(" 15:04"))
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
	due := schedule.AtPace(map[string]regions.Pace{"chart": {Gap: 15 * time.Minute, Last: at(10, 0), Most: 3}}).Due(l.Known(), at(12, 20))
	if len(due) != 3 || due[0].Key != "GB" || due[2].Key != "US" || !due[0].DueAt.Before(due[1].DueAt) || !due[1].DueAt.Before(due[2].DueAt) {
		t.Errorf("all are overdue: %+v, want GB, DE and US one after another", due)
	}
	paid := at(12, 34)
	held := schedule.AtPace(map[string]regions.Pace{"chart": {Gap: 15 * time.Minute, Last: at(12, 19), Paid: []time.Time{paid, paid, paid}}})
	next := held.Upcoming(l, at(12, 20), 3, func(ingest.Series) bool { return true })
	if len(next) != 3 || !next[0].DueAt.Equal(paid) || !next[2].DueAt.Equal(paid) {
		t.Errorf("overdue series come at %v, want all as soon as they are paid for", next)
	}
}
