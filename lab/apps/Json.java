// SPDX-License-Identifier: Apache-2.0

import java.io.FileWriter;
import java.io.IOException;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.stream.Collectors;

/** A file of JSON lines, each with the time; {@link #change} leaves out what was known already. */
final class Json {
    private final FileWriter file;
    private final Map<String, String> last = new HashMap<>();

    Json(String path) throws IOException {
        file = new FileWriter(path, true);
    }

    /** Writes a line whose members are given as JSON text. */
    synchronized void line(String members) throws IOException {
        file.write("{\"t_ms\":" + System.currentTimeMillis() + "," + members + "}\n");
        file.flush();
    }

    /** Writes a line unless the last one about this subject was the same. */
    synchronized void change(String subject, String members) throws IOException {
        if (!members.equals(last.put(subject, members))) {
            line(members);
        }
    }

    /** Writes a string, or null. */
    static String text(Object value) {
        if (value == null) {
            return "null";
        }
        StringBuilder out = new StringBuilder("\"");
        for (char c : value.toString().toCharArray()) {
            out.append(c == '"' || c == '\\' ? "\\" + c : c < ' ' ? String.format("\\u%04x", (int) c) : String.valueOf(c));
        }
        return out.append('"').toString();
    }

    /** Writes a list of strings, sorted. */
    static String texts(Collection<?> values) {
        return values.stream().map(Object::toString).sorted().map(Json::text).collect(Collectors.joining(",", "[", "]"));
    }
}
