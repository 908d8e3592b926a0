/** The module in Base64. The build writes it into a separate file that the entries share. */
declare const text: string;
export default text;
