/* query_canned.c: queries that have a name, in the language itself. */
#include "size/query.h"

const struct sxt_size_canned_query sxt_size_canned_queries[] = {
    {"largest", "| sort pss desc | limit 50", "the 50 symbols that take the most"},
    {"large-files", "| group source else drop | where pss>=50k", "source files of 50 KiB and more"},
    {"directories", "| group directory:2", "what directories take, two levels deep"},
    {"components", "| group component", "what components take"},
    {"sections", "| group container, section", "what sections take"},
    {"templates", "is:template | group name", "C++ templates, all instances together"},
    {"instances", "is:template | group template | where count>1", "instances of templates that occur several times"},
    {"generated", "is:generated | group generated", "generated code by what generates it"},
    {"static-initializers", "name~'^startup$|^_GLOBAL__'", "code that runs before main"},
    {"pak-by-path", "is:pak | group path", "resources in .pak files by path"},
    {"literals", "is:literal | group path", "string literals by the file that they come from"},
    {"padding", "padding>0 | group section | sort padding desc", "bytes between symbols, by section"},
    {"aliases", "aliases>1 | group aliases", "code that has several names"},
    {"unattributed", "not has:path | group section, name", "bytes without a known file"},
    {"crates", "is:native | group crate", "Rust crates"},
    {"packages", "is:native | group package", "Go packages"},
    {"methods", "section:.dex.method | group package | sort count desc", "methods of Java packages, defined and used"},
    {NULL, NULL, NULL},
};

const sxt_size_canned_query *sxt_size_canned_query_at(size_t index)
{
    return index < sizeof sxt_size_canned_queries / sizeof *sxt_size_canned_queries - 1
               ? &sxt_size_canned_queries[index]
               : NULL;
}
