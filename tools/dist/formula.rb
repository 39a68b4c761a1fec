class Ingest < Formula
  desc "Fetch YouTube charts within your API quota, and search them locally"
  homepage "https://github.com/trendvidstream/ingest"
  version "VERSION"
  license "Apache-2.0"

  on_macos do
    on_arm do
      url "https://github.com/trendvidstream/ingest/releases/download/vVERSION/ingest_VERSION_darwin_arm64.tar.gz"
      sha256 "SHA256_DARWIN_ARM64"
    end
  end

  on_linux do
    on_intel do
      url "https://github.com/trendvidstream/ingest/releases/download/vVERSION/ingest_VERSION_linux_amd64.tar.gz"
      sha256 "SHA256_LINUX_AMD64"
    end
    on_arm do
      url "https://github.com/trendvidstream/ingest/releases/download/vVERSION/ingest_VERSION_linux_arm64.tar.gz"
      sha256 "SHA256_LINUX_ARM64"
    end
  end

  def install
    bin.install "ingest"
    man1.install Dir["man/*.1"]
    bash_completion.install "completions/bash" => "ingest"
    zsh_completion.install "completions/zsh" => "_ingest"
    fish_completion.install "completions/fish" => "ingest.fish"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/ingest version")
  end
end
