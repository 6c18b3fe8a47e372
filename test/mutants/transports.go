package main

// transports are bugs of the way from one mode of TLS to another.
var transports = []mutant{
	{
		Name: "the guard lets a member be restarted with a peer listener that the others cannot dial", Peer: "",
		From: "	if !r.IsListedFor(t) {\n",
		To:   "	if false {\n",
		Test: guardRow("a member that its peers would not dial as it listens"),
	},
	{
		Name: "the guard gives a member settings by which it listens otherwise while no member can list it so", Peer: "",
		From: "	if why := o.WhyNotUnlisted(r, c.Transport); why != \"\" {\n",
		To:   "	if why := o.WhyNotUnlisted(r, c.Transport); false {\n",
		Test: guardRow("settings by which a member listens otherwise while no list is known"),
	},
	{
		Name: "a member that cannot start takes a spec by which it listens otherwise", Peer: "",
		From: "		o.WhyNotUnlisted(r, o.Desired.Settings.Transport) == \"\"",
		To:   "		true",
		Test: "TestWhileNoListIsKnownNoMemberTakesASpecByWhichItListensOtherwise",
	},
	{
		Name: "the guard lets a member be dialled by one that has no certificate", Peer: "",
		From: "case isListed && c.Scheme == etcdutil.SchemeHTTPS && !other.HasCertificates():",
		To:   "case isListed && c.Scheme == etcdutil.SchemeHTTPS && false:",
		Test: guardRow("a URL by which a member without certificates cannot dial"),
	},
	{
		Name: "the guard lets two members be dialled otherwise than they listen", Peer: "",
		From: "case isListed && !mends && !other.IsDialled():",
		To:   "case isListed && !mends && false:",
		Test: guardRow("a second member that is dialled otherwise than it listens"),
	},
	{
		Name: "certificates go while authentication is on", Peer: "",
		From: "case o.Auth.Known && o.Auth.On:\n\t\treturn \"spec.tls.mode",
		To:   "case false:\n\t\treturn \"spec.tls.mode",
		Test: guardRow("the last certificate while authentication is on"),
	},
	{
		Name: "members are dialled with TLS before all of them have certificates", Peer: "",
		From: "case asked.HasCertificates() && !least.HasCertificates():\n\t\treturn etcdutil.TransportPrepared",
		To:   "case asked.HasCertificates() && !least.HasCertificates():\n\t\treturn asked",
		Test: "TestTheNextStepToAModeOfTLSIsFoundFromAnyMix",
	},
	{
		Name: "members change how they dial each other while one of them is away", Peer: "",
		From: "case o.whyNotTurnPeers().Why != \"\":\n\t\treturn least",
		To:   "case false:\n\t\treturn least",
		Test: row("peers do not change before the last of them is back"),
	},
	{
		Name: "members are restarted for certificates that an issuer has yet to sign", Peer: "",
		From: "	if o.LacksFirstCertificates() {\n",
		To:   "	if false {\n",
		Test: row("no member is restarted for certificates that an issuer has yet to sign"),
	},
	{
		Name: "the guard lets a member be restarted for certificates that are not there", Peer: "",
		From: "		r.Secret.State == facts.ObjectAbsent:\n\t\treturn quorumAtRisk(\"%s is to start",
		To:   "		r.Secret.State == \"\":\n\t\treturn quorumAtRisk(\"%s is to start",
		Test: guardRow("a member for certificates that are not there"),
	},
	{
		Name: "a leader that is dialled otherwise than it listens waits for members that wait for it", Peer: "",
		From: "case !r.IsDialled():\n\t\treturn 1",
		To:   "case false && !r.IsDialled():\n\t\treturn 1",
		Test: row("also where it leads by then: no other one can be dialled otherwise before"),
	},
	{
		Name: "a CA waits for certificates that nothing shows any more", Peer: "",
		From: "case !o.Desired.TLS: // no certificate can follow.",
		To:   "case false && !o.Desired.TLS: // no certificate can follow.",
		Test: row("once TLS is off none is replaced, and TLS comes back with what the Secret holds"),
	},
}
