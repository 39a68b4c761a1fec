package fetch

import (
	"fmt"
	"strings"

	"github.com/trendvidstream/ingest"
)

// absences sums up the videos that the look-ups of a pass left out.
type absences struct {
	deleted, doubted, lacking, answers int
}

func (s *absences) add(a ingest.Absences) {
	s.deleted += a.Deleted
	if a.Suspect {
		s.answers++
		s.lacking += a.Missing
		return
	}
	s.doubted += a.Doubted
}

// String describes them in one line for a person; "" if nothing was left out.
func (s *absences) String() string {
	var deleted, doubted, suspect string
	if s.deleted > 0 {
		deleted = fmt.Sprintf("%d deleted: gone at the upstream", s.deleted)
	}
	if s.doubted > 0 {
		doubted = counted(s.doubted, "video") + " left out by a look-up: to be asked for again before anything is deleted"
	}
	if s.answers > 0 {
		suspect = fmt.Sprintf("%s suspect: %s missing, too many at once to believe; "+
			"nothing was deleted for that, and the next refreshes ask for them again",
			counted(s.answers, "answer"), counted(s.lacking, "video"))
	}
	return joined(deleted, doubted, suspect)
}

// suspectError ends a pass over a piece whose answers were suspect.
type suspectError struct{ why string }

func (e *suspectError) Error() string { return e.why }

// joined joins the texts that are not empty.
func joined(texts ...string) string {
	var out []string
	for _, text := range texts {
		if text != "" {
			out = append(out, text)
		}
	}
	return strings.Join(out, "; ")
}
