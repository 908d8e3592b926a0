/** The module as text. The build puts it into a file of its own, which the entries share. */
declare const text: string;
export default text;
