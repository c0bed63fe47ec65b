# SPDX-License-Identifier: GPL-2.0-or-later

# autoconf leaves ${prefix} in directory names, so make fills them in.
systemdsystemunit_DATA = conf/causeway.service
CLEANFILES += conf/causeway.service
EXTRA_DIST += conf/causeway.service.in

conf/causeway.service: $(top_srcdir)/conf/causeway.service.in Makefile
	$(AM_V_GEN)$(MKDIR_P) conf && \
	sed -e 's|@sbindir[@]|$(sbindir)|g' -e 's|@sysconfdir[@]|$(sysconfdir)|g' \
		$(top_srcdir)/conf/causeway.service.in >$@.tmp && mv $@.tmp $@

# The sample has a name of its own in sysconfdir: an update, or its removal, must
# not touch the real one.
causewayconfdir = $(sysconfdir)/causeway
causewayconf_DATA = conf/causeway.conf.sample
CLEANFILES += conf/causeway.conf.sample

conf/causeway.conf.sample: $(top_srcdir)/conf/causeway.conf
	$(AM_V_GEN)$(MKDIR_P) conf && cp $(top_srcdir)/conf/causeway.conf $@.tmp && mv $@.tmp $@

dist_doc_DATA = conf/causeway.conf
examplesdir = $(docdir)/examples
dist_examples_DATA = \
	conf/examples/aws-bgp.conf \
	conf/examples/aws.conf \
	conf/examples/azure-active-active.conf \
	conf/examples/azure-bgp-apipa.conf \
	conf/examples/azure-bgp.conf \
	conf/examples/azure-default.conf \
	conf/examples/azure-policy.conf \
	conf/examples/azure.conf \
	conf/examples/external-bird.conf \
	conf/examples/external-frr.conf \
	conf/examples/home-lab-nat.conf \
	conf/examples/ikev1-firewall.conf \
	conf/examples/two-causeways-left.conf \
	conf/examples/two-causeways-right.conf
