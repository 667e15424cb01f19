# SPDX-License-Identifier: Apache-2.0
# cmake -DROOM=... -DPAGE=page.html -DNAME=kTemplate -DSCRIPTS=a.js,b.js -DOUTPUT=... -P embed.cmake: the page without its
# data as a C++ string of that name. The policy of the page lets exactly this style and this script run, by their SHA-256, and nothing that a recording might bring.
cmake_policy(VERSION 3.25)

# A SHA-256 in hexadecimal digits as base64: three digits are two letters.
function(to_base64 hex result)
  set(letters ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/)
  set(text "")
  foreach(at RANGE 0 60 3)
    string(SUBSTRING ${hex} ${at} 3 digits)
    math(EXPR high "0x${digits} >> 6")
    math(EXPR low "0x${digits} & 63")
    string(SUBSTRING ${letters} ${high} 1 first)
    string(SUBSTRING ${letters} ${low} 1 second)
    string(APPEND text ${first}${second})
  endforeach()
  string(SUBSTRING ${hex} 63 1 digit)
  math(EXPR high "0x${digit} << 2")
  string(SUBSTRING ${letters} ${high} 1 last)
  set(${result} "${text}${last}=" PARENT_SCOPE)
endfunction()

file(READ ${ROOM}/${PAGE} page)
file(READ ${ROOM}/page.css style)
set(script "\n'use strict';\n(() => {\n")
string(REPLACE "," ";" SCRIPTS "${SCRIPTS}")
foreach(name ${SCRIPTS})
  file(READ ${ROOM}/${name} text)
  string(APPEND script "${text}")
endforeach()
string(APPEND script "})();\n")

string(SHA256 style_hash "${style}")
string(SHA256 script_hash "${script}")
to_base64(${style_hash} style_hash)
to_base64(${script_hash} script_hash)
string(REPLACE "@style_hash@" "${style_hash}" page "${page}")
string(REPLACE "@script_hash@" "${script_hash}" page "${page}")
string(REPLACE "@style@" "${style}" page "${page}")
string(REPLACE "@script@" "${script}" page "${page}")
file(WRITE ${OUTPUT} "// Made by embed.cmake.
#include \"page/html.h\"

namespace noised::page {
const char* const ${NAME} = R\"noised_page(${page})noised_page\";
}  // namespace noised::page
")
