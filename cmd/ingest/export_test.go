package main

import (
	"context"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/config"
	"github.com/trendvidstream/ingest/internal/doctor"
	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/quota/redisledger"
	"github.com/trendvidstream/ingest/store"
)

// Parts that the tests, which are another package, use besides the program as a whole.

// Run is the whole program.
var Run = run

// The documents of --json.
type (
	BackfillDocument = report.PlanDocument
	BackfillEnd      = report.BackfillEnd
	ChartDocument    = report.ChartDocument
	ChartItem        = report.ChartItem
	DoctorDocument   = doctor.Document
	PoolDocument     = report.PoolDocument
	Progress         = report.Progress
	QuotaDocument    = report.QuotaDocument
	RunDocument      = report.RunDocument
	SearchDocument   = report.SearchDocument
	SlotDocument     = report.SlotDocument
	SlotEvent        = slotEvent
)

// Documents are all documents that commands print with --json, by the names of their schemas.
var Documents = map[string]any{
	"search": report.SearchDocument{}, "chart": report.ChartDocument{}, "chart-compare": report.MovesDocument{}, "history": report.HistoryDocument{},
	"slots": report.SlotsDocument{}, "quota": report.QuotaDocument{}, "quota-take": report.TakeDocument{}, "run": report.RunDocument{}, "serve": slotEvent{},
	"backfill": report.PlanDocument{}, "backfill-list": backfillList{}, "backfill-progress": report.Progress{}, "backfill-end": report.BackfillEnd{},
	"config-check": report.CheckDocument{}, "doctor": doctor.Document{}, "backup": report.BackupDocument{}, "backup-expire": report.ExpiredDocument{}, "store-copy": report.Copied{}, "audit-report": report.AuditReport{}, "advise": report.AdviceDocument{}, "version": report.VersionDocument{}, "error": errorDocument{},
}

// ErrPartial is silent, and ends the program with exit code 3.
var ErrPartial error = codeError{exitPartial, nil}

// ExitCode returns the exit code of an error for a command.
var ExitCode = exitCode

// NewRoot returns the command line.
func NewRoot() *cobra.Command {
	return newRoot(&app{console: console{stdout: &term.CheckedWriter{To: io.Discard}, stderr: io.Discard}})
}

// Report prints an error as a message, as a usage error and as the end of a command. It returns the usage error's
// exit code.
func Report(stderr io.Writer, terminal bool, err error) int {
	a := &app{console: console{stderr: stderr, narrow: terminal}}
	a.say("%v", err)
	code := a.report("ingest run", usageError{err})
	a.report("ingest run", err)
	return code
}

// PrintRun prints the slots that a run has worked on.
func PrintRun(w io.Writer, worked []ingest.SlotResult) { summarise(worked, nil).Print(w) }

// PrintBackfillEnd prints how a run of a backfill ended.
func PrintBackfillEnd(w io.Writer, worked []ingest.SlotResult, doc BackfillDocument) {
	endOf(worked, nil, doc).Print(w)
}

// ProgressLine returns a backfill's progress, as on a terminal.
func ProgressLine(began, now store.BackfillStatus, took time.Duration, maxUnits int64) string {
	return progressOf(began, now, took, maxUnits).Line(true)
}

// ClaimedByText says who holds a claimed slot.
var ClaimedByText = report.ClaimedBy

// Export writes titles, each with tags, as --csv or --jsonl does.
func Export(w io.Writer, format, tag string, titles ...string) error {
	return printAs(&console{stdout: &term.CheckedWriter{To: w}}, format, nil, titles, func(title string) []term.Cell {
		return []term.Cell{{Name: "title", Value: title}, {Name: "tags", Value: []string{tag, title}}, {Name: "views", Value: (*int64)(nil)}}
	})
}

// NewDoctor returns a doctor of a machine with files under root and its clock at now.
func NewDoctor(root string, uid int, now time.Time) *doctor.Doctor {
	a := &app{}
	d := newDoctor(a, root, uid)
	a.clock.Move(now)
	a.clock.Moved = false
	return d
}

// PrintFindings prints a doctor's findings.
func PrintFindings(w io.Writer, found []doctor.Finding) error {
	return printFindings(&console{stdout: &term.CheckedWriter{To: w}}, []string{"sqlite"}, found, doctor.Usual)
}

// CheckRemote checks a Redis before a start uses it.
func CheckRemote(ctx context.Context, stderr io.Writer, quiet bool, url string, l *redisledger.Ledger) error {
	warning, err := doctor.CheckAtStart(ctx, l, config.ServerName(url))
	if warning != "" {
		(&console{stderr: stderr, quiet: quiet}).say("ingest: %s", warning)
	}
	return err
}

// HelpSections are the sections of help.txt, by command.
func HelpSections() map[string]string { return helpSections(helpText) }
