// Package ownfile opens and writes our files where other users may have put links, pipes and files of theirs: it
// follows no link in the last part of a name, waits for no pipe, and checks the owner and the mode of the open file.
package ownfile

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// Error is a file or a directory that another user could have put there or could replace. It is an fs.ErrPermission.
type Error struct{ Path, Why, Cure string }

func (e *Error) Error() string { return e.Path + " " + e.Why + ": " + e.Cure }

func (e *Error) Unwrap() error { return fs.ErrPermission }

// Remedy names the trouble and the cure.
func (e *Error) Remedy() (wrong, advice string) { return e.Path + " " + e.Why, e.Cure }

// reach adds the cure to the system's error about a path that it cannot reach: a directory above cannot be entered by
// this user, or is a file. another is what to give instead.
func reach(path, another string, err error) error {
	if !errors.Is(err, fs.ErrPermission) && !errors.Is(err, syscall.ENOTDIR) {
		return err
	}
	dir := filepath.Dir(path)
	info, seen := os.Stat(dir)
	for seen != nil && dir != filepath.Dir(dir) {
		dir = filepath.Dir(dir)
		info, seen = os.Stat(dir)
	}
	switch {
	case seen != nil:
		return err
	case !info.IsDir():
		return &Error{dir, "is a file, not a directory", "give another " + another}
	}
	uid := Owner(info)
	return &Error{dir, "belongs to " + UserName(uid) + " and may not be entered by this user",
		"run this with " + Sudo(uid) + ", or give another directory"}
}

// Sudo returns how to become a user. Only root can look into the directories that systemd makes for a service.
func Sudo(uid int) string {
	if uid <= 0 || uid >= 61184 && uid <= 65519 {
		return "sudo"
	}
	return "sudo -u " + UserName(uid)
}

// UserName returns a user's name, or its id: a service's user often has no name.
func UserName(uid int) string {
	u, err := user.LookupId(strconv.Itoa(uid))
	switch {
	case uid < 0:
		return "this user"
	case err != nil:
		return "user " + strconv.Itoa(uid)
	}
	return u.Username
}

// Open opens a regular file that no other user may write. With os.O_CREATE in flag it makes a missing one, of mode
// 0600.
func Open(path string, flag int) (*os.File, error) {
	f, err := os.OpenFile(path, flag|noFollow|noWait, 0o600)
	if err != nil {
		if info, statErr := os.Lstat(path); statErr == nil && !info.Mode().IsRegular() {
			err = notRegular(path, info)
		}
		return nil, err
	}
	info, err := f.Stat()
	if err == nil {
		err = judge(path, info)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Check is Open for a file that a library opens by its name. A missing file is accepted.
func Check(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return reach(path, "path", err)
	}
	return judge(path, info)
}

func judge(path string, info fs.FileInfo) error {
	switch {
	case !info.Mode().IsRegular():
		return notRegular(path, info)
	case writableByAll(info):
		return &Error{path, "can be written by every user of this machine",
			"see whether it is as you left it, then chmod o-w " + path}
	}
	dir, err := os.Stat(filepath.Dir(path))
	if err != nil {
		return err
	}
	if !ours(info) && Owner(info) != Owner(dir) {
		return &Error{path, "belongs to another user than its directory", "see who put it there, and remove it or chown it"}
	}
	return nil
}

func notRegular(path string, info fs.FileInfo) error {
	if info.Mode()&fs.ModeSymlink != 0 {
		return &Error{path, "is a symbolic link, which is not followed", "put the file itself there, or remove the link"}
	}
	return &Error{path, "is no regular file", "remove it"}
}

// CheckDir refuses a directory into which every user may write, and one that others could replace as a whole: every
// user may write into a directory above it that has no sticky bit. A missing directory is accepted.
func CheckDir(dir string) error { return checkDir(dir, false) }

// CheckTarget is CheckDir for a directory into which root or this user writes one new file: it may have the sticky bit.
// A user who owns it could have root write elsewhere, and is trusted only if that user owns the files in trusted.
func CheckTarget(dir, trusted string) error {
	info, err := os.Stat(dir)
	if err != nil || ours(info) || os.Geteuid() != 0 {
		return checkDir(dir, true)
	}
	if like, err := os.Stat(trusted); err == nil && Owner(like) == Owner(info) {
		return checkDir(dir, true)
	}
	return &Error{dir, "belongs to another user, who could have root write elsewhere",
		"run this as its owner, or give a directory that root owns"}
}

// Resolve returns the absolute path of a directory, which may be missing, without links. It refuses a link of another
// user that leads to a directory that this user does not own: it could lead root into another directory of root.
func Resolve(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	for links, at := 0, 1; err == nil && at <= len(dir); at++ { // dir[:at] is the next of its parents
		if at < len(dir) && !os.IsPathSeparator(dir[at]) {
			continue
		}
		part := dir[:at]
		info, err := os.Lstat(part)
		if err != nil || info.Mode()&fs.ModeSymlink == 0 {
			continue // a missing one has no links below it
		}
		to, err := os.Readlink(part)
		if err != nil {
			return "", err
		}
		if links++; links > 40 {
			return "", &fs.PathError{Op: "open", Path: part, Err: errors.New("too many symbolic links")}
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(part), to)
		}
		// not of part, where something else may be by now
		if target, err := os.Stat(to); err == nil && !ours(info) && Owner(target) != Owner(info) {
			return "", &Error{part, "is a symbolic link of another user, to a directory that this user does not own",
				"remove it, or give the directory itself"}
		}
		dir, at = filepath.Join(to, dir[at:]), 0
	}
	return dir, err
}

func checkDir(dir string, sticky bool) error {
	whole, err := Resolve(dir)
	if err != nil {
		return err
	}
	inside := whole + string(filepath.Separator) + "."
	if _, err := os.Stat(inside); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return reach(inside, "--data directory", err)
	}
	var below fs.FileInfo
	for d := whole; ; d = filepath.Dir(d) {
		info, err := os.Stat(d)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return reach(d, "--data directory", err)
		case writableByAll(info) && (d == whole && !sticky || info.Mode()&fs.ModeSticky == 0):
			return &Error{d, "can be written by every user of this machine",
				fmt.Sprintf("chmod o-w %s, or give another directory than %s", d, dir)}
		case writableByAll(info) && below != nil && !ours(below):
			return &Error{dir, "lies in " + d + ", where every user may make directories, and another user made this one",
				"give another directory"}
		}
		if below = info; d == filepath.Dir(d) {
			return nil
		}
	}
}

// OpenRoot opens a directory for changes that stay in it, also if a link takes the place of its name meanwhile.
func OpenRoot(dir string) (*os.Root, error) {
	dir, err := Resolve(dir)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	opened, err := root.Stat(".")
	there, also := statNoLink(dir)
	if err = errors.Join(err, also); err == nil && !os.SameFile(opened, there) {
		err = &Error{dir, "was replaced while it was opened", "see which process does that, then try again"}
	}
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return root, nil
}

// Draft is a new file that has its name only when it is complete.
type Draft struct {
	*os.File

	root       *os.Root
	temp, name string // in it
}

// Create begins a file of mode 0600. Nothing at path is opened: Replace takes its place.
func Create(path string) (*Draft, error) {
	root, err := OpenRoot(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	d := &Draft{root: root, name: filepath.Base(path)}
	for err = fs.ErrExist; errors.Is(err, fs.ErrExist); {
		d.temp = "." + d.name + ".new-" + rand.Text()
		d.File, err = root.OpenFile(d.temp, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	}
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return d, nil
}

// Replace closes the draft and gives it its name, instead of the file or the link that has it.
func (d *Draft) Replace() error {
	return d.end(d.Sync())
}

// end closes the draft and, without an error, gives it its name; else it removes it.
func (d *Draft) end(err error) error {
	if err = errors.Join(err, d.Close()); err == nil {
		err = d.root.Rename(d.temp, d.name)
	}
	if err != nil {
		_ = d.root.Remove(d.temp)
	}
	return errors.Join(err, d.root.Close())
}

// Write replaces the contents of a file, or makes it.
func Write(path string, data []byte) error {
	d, err := Create(path)
	if err != nil {
		return err
	}
	if _, err := d.Write(data); err != nil {
		return d.end(err)
	}
	return d.Replace()
}
