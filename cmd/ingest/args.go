package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/config"
	"github.com/trendvidstream/ingest/internal/strictyaml"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/regions"
)

// orAsk returns an argument check that fails with the question ask if args fails.
func orAsk(args cobra.PositionalArgs, ask string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, given []string) error {
		if args(cmd, given) == nil {
			return nil
		}
		return usageError{errors.New(ask)}
	}
}

// meant maps names of commands in other programs to this program's names.
var meant = map[string]string{"status": "quota", "usage": "quota", "start": "serve", "daemon": "serve",
	"stop": "quota drain", "fetch": "run", "find": "search", "check": "doctor"}

// noArgs refuses arguments, and suggests the intended command.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	text := fmt.Sprintf("unknown command %q for %q", args[0], cmd.CommandPath())
	near := term.Texts(cmd.Commands(), (*cobra.Command).Name)
	if r, err := regions.ParseList(args[0]); err == nil && cmd.Flags().Lookup("region") != nil {
		codes := term.Texts(r, func(code ingest.Region) string { return string(code) })
		text = fmt.Sprintf("%s takes no arguments: did you mean --region %s?", cmd.Name(), strings.Join(codes, ","))
	} else if name := meant[args[0]]; name != "" && !cmd.HasParent() {
		text += fmt.Sprintf(": did you mean %q?", name)
	} else if hint := strictyaml.Suggest(args[0], near); strings.HasPrefix(hint, "did you") {
		text += ": " + hint
	}
	return usageError{errors.New(text)}
}

// flagError says which flag has a wrong value, and which flag may have been meant.
func flagError(cmd *cobra.Command, err error) error {
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		var known []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
		if hint := strictyaml.Suggest(unknown.GetSpecifiedName(), known); strings.HasPrefix(hint, "did you") {
			err = fmt.Errorf("%w: %s", err, strings.Replace(strings.ReplaceAll(hint, `"`, ""), "mean ", "mean --", 1))
		}
	}
	if text, ok := errors.AsType[config.FlagError](err); ok {
		wrong, _ := errors.AsType[*pflag.InvalidValueError](err)
		err = errors.New("--" + wrong.GetFlag().Name + string(text))
	} else if wrong, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		use := map[string]string{"duration": "a length of time such as 500ms",
			"bool": "true or false"}[wrong.GetFlag().Value.Type()]
		err = fmt.Errorf("--%s %q: use %s", wrong.GetFlag().Name, wrong.GetValue(), cmp.Or(use, "a whole number"))
	}
	return usageError{err}
}

func command(use, short string, args cobra.PositionalArgs,
	run func(ctx context.Context, args []string) error) *cobra.Command {
	return &cobra.Command{Use: use, Short: short, Args: args,
		RunE: func(cmd *cobra.Command, args []string) error { return run(cmd.Context(), args) }}
}

// group returns a command that has only subcommands. Called alone it shows its help.
func group(use, short string, below ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(below...)
	return cmd
}
