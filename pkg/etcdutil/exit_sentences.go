package etcdutil

// removedSentence is what a removed member hears from each peer. Only a removed member prints it
// (etcd-io/etcd:server/etcdserver/api/rafthttp/http.go, 410).
const removedSentence = "the member has been permanently removed from the cluster"

// exitSentence ties a reason to the words of etcd, or to a function in the stack of its panic where the words are cut
// off.
type exitSentence struct {
	contains string
	reason   ExitReason
}

// exitSentences is read from the top, and the first that is found wins: a full or forbidden disk comes before the
// database that could not be opened for it. Each was seen in a real crash of 3.5.35, 3.6.16 or 3.7.3, recorded in
// testdata/exits, unless it says otherwise. A field of the log stands here as in JSON: see inJSON.
var exitSentences = []exitSentence{
	{"no space left on device", ExitDiskFull},
	// the error is cut off; a directory that may not be written ends etcd before
	{"panic: failed to create WAL", ExitDiskFull},
	{"disk quota exceeded", ExitDiskFull}, // EDQUOT (not tried)

	{": input/output error", ExitDiskFailing},       // EIO (not tried)
	{": read-only file system", ExitDiskFailing},    // EROFS
	{": structure needs cleaning", ExitDiskFailing}, // EUCLEAN (not tried)
	{"[signal SIGBUS: bus error", ExitDiskFailing},  // where the goroutines behind it are few enough (not tried)

	{": permission denied", ExitPermission},

	{"cannot fetch cluster info from peer urls", ExitDataEmpty}, // server/etcdserver/bootstrap.go
	{"has already been bootstrapped", ExitAlreadyBootstrapped},
	{"member count is unequal", ExitStaleFlags},
	{"PeerURLs: no match found for existing member", ExitStaleFlags},
	{"couldn't find local name", ExitStaleFlags},
	{"error setting up initial cluster", ExitStaleFlags}, // server/embed/config.go PeerURLsMapAndToken (not tried)

	{"invalid downgrade; server version is lower than determined cluster version", ExitVersionTooLow},
	{"version.MustDetectDowngrade", ExitVersionTooLow},           // the same as a panic: the words are cut off
	{"membership.(*RaftCluster).SetVersion(", ExitVersionTooLow}, // and so is the frame that has panicked
	{").ClusterVersionSet\\n", ExitVersionTooLow},                // 3.5: a long stack and other lines follow the words
	{"incompatible with current running cluster", ExitVersionTooLow},
	{"\" is not supported\"", ExitVersionTooLow}, // version \"3.7.0\" is not supported: server/storage/schema
	{"unmarshal should never fail", ExitVersionSkipped},
	{"pbutil.MustUnmarshalMessage", ExitVersionSkipped},

	{"is out of range [lastIndex(", ExitRaftPanic}, // raft: tocommit(8) is out of range [lastIndex(0)]

	{"crc mismatch", ExitDataCorrupt},                 // server/storage/wal
	{"\"error\":\"wal: ", ExitDataCorrupt},            // the other errors of that package
	{"selectWALFiles failed: wal: ", ExitDataCorrupt}, // from 3.6 on its files are told so: one of them is gone
	// A record of the WAL that cannot be decoded. Of the space that follows, each build of 3.7 has one of two widths
	// (google.golang.org/protobuf/internal/errors).
	{"\"error\":\"proto:", ExitDataCorrupt},
	{"cannot use none as id", ExitDataCorrupt}, // a WAL that does not say whose it is
	{"\"error\":\"invalid database\"", ExitDataCorrupt},
	{"\"error\":\"file size too small", ExitDataCorrupt},
	{"\"error\":\"checksum error\"", ExitDataCorrupt},        // bbolt errors.ErrChecksum
	{"go.etcd.io/bbolt.(*DB).loadFreelist", ExitDataCorrupt}, // up to 3.6, where bbolt's pages contradict each other
	{"Page expected to be", ExitDataCorrupt},                 // 3.7, where they do
	{"found data inconsistency with peers", ExitDataDiffers},

	{"flag provided but not defined", ExitBadFlag},
	{"for flag -", ExitBadFlag}, // invalid value "x" for flag -y
	{"failed to verify flags", ExitBadFlag},
	{"conflicting environment variable is shadowed", ExitBadFlag},
	{"unexpected TLS cipher suite", ExitBadFlag},
	{"panic: unrecognized level", ExitBadFlag},

	{"bind: ", ExitAddress}, // listen tcp …: bind: cannot assign requested address

	{"failed to find any PEM data", ExitTLS},
	{"TLS key/cert (", ExitTLS},
	{"tls: private key does not match", ExitTLS}, // crypto/tls (not tried)
	{".crt: no such file or directory", ExitTLS},
	{".key: no such file or directory", ExitTLS},

	{" fp=0x", ExitFault}, // frames of goroutines as the runtime prints them, and no panic does: runtime/traceback.go
}

// exitMeanings are for people, where nothing but a stack is left of what etcd said.
var exitMeanings = map[ExitReason]string{
	ExitVersionTooLow:  "it is older than its data or its cluster allows",
	ExitVersionSkipped: "it cannot read an entry that an older minor version wrote",
	ExitDataCorrupt:    "its database cannot be read",
	ExitFault:          "the Go runtime stopped it, and the line that says why was cut off",
}
