package ingest_test

import (
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
)

func TestAClockApartSaysByHowMuch(t *testing.T) {
	there := time.Date(2026, 2, 14, 9, 0, 0, 0, time.UTC)
	for ahead, want := range map[time.Duration]string{
		30 * time.Second:  "",
		-30 * time.Second: "",
		31 * time.Second:  "its clock is 31 s ahead of the database's clock: set it (timedatectl set-ntp true)",
		-20 * time.Minute: "its clock is 20 min behind the database's clock: set it (timedatectl set-ntp true)",
		time.Hour:         "its clock is 60 min ahead of the database's clock: set it (timedatectl set-ntp true)",
		-25 * time.Hour:   "its clock is 25 h behind the database's clock: set it (timedatectl set-ntp true)",
		72 * time.Hour:    "its clock is 3 days ahead of the database's clock: set it (timedatectl set-ntp true)",
	} {
		said := ""
		if err := ingest.CompareClocks("the database", there.Add(ahead), there, 30*time.Second); err != nil {
			said = err.Error()
		}
		if said != want {
			t.Errorf("%v ahead: %q, want %q", ahead, said, want)
		}
	}
}
