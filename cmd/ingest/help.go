package main

import (
	_ "embed"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/trendvidstream/ingest/internal/config"
	"github.com/trendvidstream/ingest/internal/term"
)

// helpText has a section of text and one of examples for each command.
//
//go:embed help.txt
var helpText string

// globalFlags is the help topic that lists the flags every command takes.
const globalFlags = "flags"

// describe gives a command and its subcommands their sections, and completes the values of their flags.
func (a *app) describe(cmd *cobra.Command, sections map[string]string) {
	cmd.Long = strings.TrimSpace(sections[cmd.CommandPath()] + "\n" + cmd.Long)
	if examples, ok := sections[cmd.CommandPath()+": examples"]; ok {
		cmd.Example = strings.TrimRight(examples, "\n")
	}
	if cmd.ValidArgsFunction == nil {
		cmd.ValidArgsFunction = cobra.NoFileCompletions
	}
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		v, ok := f.Value.(*config.FlagValue)
		var values cobra.CompletionFunc
		switch {
		case f.Name == "region":
			values = a.completion(regionsOf, anywhere)
		case ok && v.Choices() != nil:
			values = cobra.FixedCompletions(v.Choices(), cobra.ShellCompDirectiveNoFileComp)
		default:
			return
		}
		_ = cmd.RegisterFlagCompletionFunc(f.Name, values) // the flag exists
	})
	for _, sub := range cmd.Commands() {
		a.describe(sub, sections)
	}
}

// helpSections splits a help text into sections, by the line above each: -- NAME --.
func helpSections(text string) map[string]string {
	sections := map[string]string{}
	for part := range strings.SplitSeq("\n"+text, "\n-- ") {
		name, body, _ := strings.Cut(part, " --\n")
		sections[name] = body + "\n"
	}
	return sections
}

// usage prints a command's usage like cobra, but within the columns of a screen.
func usage(cmd *cobra.Command) error {
	w := cmd.OutOrStderr()
	fmt.Fprint(w, "Usage:")
	if cmd.Runnable() {
		fmt.Fprintf(w, "\n  %s", cmd.UseLine())
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(w, "\n  %s [command]", cmd.CommandPath())
	}
	if cmd.HasExample() {
		fmt.Fprintf(w, "\n\nExamples:\n%s", cmd.Example)
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprint(w, "\n\nAvailable Commands:")
		for _, sub := range cmd.Commands() {
			if sub.IsAvailableCommand() || sub.Name() == "help" {
				fmt.Fprintf(w, "\n  %-*s %s", sub.NamePadding(), sub.Name(), sub.Short)
			}
		}
	}
	if cmd.HasAvailableLocalFlags() {
		printFlags(w, "Flags", cmd.LocalFlags())
	}
	switch {
	case cmd.Name() == globalFlags:
		printFlags(w, "Global Flags", cmd.InheritedFlags())
	case cmd.HasAvailableInheritedFlags():
		var names []string
		cmd.InheritedFlags().VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
		fmt.Fprintf(w, "\n\nGlobal Flags (ingest help flags):\n  %s",
			term.Wrap(strings.Join(names, " "), term.Screen-2, "  "))
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(w, "\n\nUse \"%s [command] --help\" for more.", cmd.CommandPath())
	}
	fmt.Fprintln(w)
	return nil
}

func printFlags(w io.Writer, title string, flags *pflag.FlagSet) {
	fmt.Fprintf(w, "\n\n%s:\n%s", title, strings.TrimRight(flags.FlagUsagesWrapped(term.Screen), " \n"))
}
